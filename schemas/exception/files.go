package exception

import "tributary/schemas"

func sources() []Entry {
	e := func(name, happened, do string, phases ...schemas.Phase) Entry {
		if len(phases) == 0 {
			phases = []schemas.Phase{schemas.ZipName, schemas.Download, schemas.ZipMD5}
		}
		return Entry{name, Source, phases, happened, do}
	}
	const wait = "Nothing, if it goes away: it is tried again by itself. "
	return []Entry{
		e("host_not_found", "The server's name is not known to DNS.", wait+"Otherwise correct the source's url."),
		e("connection_failed", "No connection to the server could be made.", wait+"Otherwise ask the server's owner whether it is up, and whether its firewall lets us in."),
		e("connection_lost", "The connection broke off.", wait+"If it happens often, ask the server's owner."),
		e("timed_out", "The server did not answer whole, or sent nothing, for too long; or connecting and logging in took too long in all.", wait+"If it happens often, ask the server's owner, or raise the time limits of the configuration."),
		e("server_busy", "The server says that it has too many connections.", wait+"If it happens often, lower max_sessions of the source."),
		e("login_failed", "The server refuses the user, password or key.", "Correct the credentials of the source (in the configuration, or with tributary sources edit), or ask the server's owner."),
		e("host_key_unknown", "The server's identity is not known yet, and no unknown server is trusted.", "Compare the key that the message shows with what the server's owner tells you, and add the line of the message to the known_hosts file."),
		e("host_key_mismatch", "The server shows another identity than the known one: it has a new key, or somebody is in between.", "Ask the server's owner. Replace the known key only when the owner confirms the new one."),
		e("host_key_revoked", "The server shows a key that is marked as revoked.", "Don't connect before the server's owner has explained it."),
		e("host_key_not_offered", "The server has no key of the known type any more.", "Ask the server's owner for its present key, and replace the known one."),
		e("certificate_not_trusted", "The server's certificate is not one that is trusted: it has expired, is another server's, or nobody vouches for it whom we know.", "Ask the server's owner. Where the certificate is right, put it, or its authority's, into a file that ca_file of the source names."),
		e("encryption_refused", "The FTP server doesn't encrypt the connection, or its data connections, as the source's url asks (ftpes, ftps).", "Ask the server's owner to allow TLS (AUTH TLS, PROT P). Only where nobody may listen on the way, use ftp in the url."),
		e("bucket_not_found", "The S3 server has no bucket of that name.", "Correct the bucket in the source's url, or its endpoint, or ask the bucket's owner."),
		e("wrong_region", "The S3 bucket is in another region than the one that was asked. No other server is asked with our signature than the source names.", "Set region of the source to the one that the message says."),
		e("clock_skewed", "The S3 server refuses what is signed, since its clock and ours differ by more than it allows (15 minutes at Amazon). The message shows both.", "Set the clock of the member that asked right (NTP), or ask the server's owner to set the server's."),
		e("object_archived", "The S3 object lies in an archive class (such as Glacier), from which it can't be read before it is restored.", "Ask the bucket's owner to restore it, or to keep what is fetched in another class. It is tried again later by itself."),
		e("robots_forbidden", "The server's robots.txt asks programs to leave this directory or file alone.", "Ask the server's owner to allow the program tributary there, or, with the owner's leave, set robots: ignore for the source."),
		e("no_index_page", "The HTTP server shows something else in place of the directory's index: a page to log in, a page made by a script, or one that is made for people. Nothing is concluded from that: no file counts as gone.", "Correct the source's url, or ask the server's owner for a plain index, as Apache, nginx, lighttpd or IIS make it.", schemas.ZipName),
		e("bad_source_configuration", "How the source is defined can't work: its url, or a key that can't be read.", "Correct the source as the message says, in the configuration or with tributary sources edit."),
		e("protocol_unknown", "The member that should list or download can't read sources of such a url: a newer program has defined the source.", "Upgrade the members with the roles poll and download together, or correct the source's url."),
		e("misconfigured", "The member that should list or download can't use how the source is defined: a secret is not there, or a newer program has defined it.", "Put the secret where the message says on each member with the roles poll and download, and upgrade these together.", schemas.ZipName, schemas.Download),
		e("permission_denied", "The server refuses to show this directory or file.", "Ask the server's owner for permission."),
		e("file_gone", "The file is no longer there.", "Nothing, if it was withdrawn. Otherwise ask the producer to upload it again.", schemas.Download, schemas.ZipMD5),
		e("gone", "No source shows the file any more; it was gone before it could be fetched.", "Nothing, if it was withdrawn. Otherwise ask the producer to upload it again.", schemas.ZipName, schemas.Download),
		e("transfer_failed", "The server broke the transfer off with an error of its own, which the message quotes.", wait+"If it happens often, ask the server's owner.", schemas.Download, schemas.ZipMD5, schemas.ZipName),
		e("transfer_truncated", "Fewer bytes arrived than the server says the file has, and it reported no error.", wait+"If it happens often, the server, or something in between, is faulty: ask its owner.", schemas.Download),
		e("file_changed", "The file has another size or time after the transfer than before it: it is still being uploaded, or was replaced meanwhile.", "Nothing: it is fetched again once it stays the same. Producers should upload under a temporary name and rename the file.", schemas.Download),
		e("file_too_large", "The file is larger than download.max_file_size allows.", "Ask the producer for smaller files, or raise the limit.", schemas.Download),
		e("no_room", "There is no room for the file: it would leave less free space for the blobs than blobs.min_free, or is larger than its server's share of the rest (blobs.server_share). Where only others under way have the room it costs the file no attempt. Smaller files are still fetched.", "Nothing, if there is room soon: it is tried again by itself. Otherwise free some, move the store, or raise blobs.server_share, as the message says.", schemas.Download),
		e("too_slow", "The server sent too slowly: fewer bytes over the connection than download.min_rate asks for, on average over download.rate_grace, or the file took longer than download.file_budget.", wait+"If it happens often, ask the server's owner, or lower download.min_rate.", schemas.Download, schemas.ZipMD5),
		e("checksum_mismatch", "The file's MD5 is not the one that the .md5 file beside it says.", "Ask the producer to upload both again: one of them is old or damaged.", schemas.ZipMD5),
		e("checksum_unreadable", "The .md5 file beside the file holds no MD5 of 32 hexadecimal digits.", "Ask the producer to correct or remove it.", schemas.ZipMD5),
		e("writing_unsupported", "Files can't be deleted, moved or marked over the source's protocol.", "Take done_with out of the source's definition.", schemas.ZipMD5),
		e("target_exists", "Where the file was to be moved (done_with), something is already. It is not replaced, and the file stays where it is.", "Look at both, and take one of them away. It is tried again after a pause.", schemas.ZipMD5),
		e("changed_since_insertion", "What lies at the source now is not the file that was inserted: it has another size or time. So done_with leaves it alone.", "Nothing: the next poll shows what lies there, and it is fetched as any that has changed.", schemas.ZipMD5),
		e("file_unverifiable", "The server doesn't say size and time of the file exactly enough to tell that it still is the one that was inserted. So done_with leaves it alone.", "Ask the server's owner for MLSD or MDTM (FTP), or clear the directory by other means.", schemas.ZipMD5),
		e("not_tried", "The connection was lost, its time (download.job_budget) was over, or the member that fetched was stopped, before this file was done, or its source was suspended or put into maintenance before the job was begun; it costs the file no attempt.", "Nothing: it is requested again.", schemas.Download),
		e("source_removed", "The source was removed, from the configuration or by a person, so its file is not fetched, or its poll not done.", "Nothing, if that was meant; otherwise add the source again.", schemas.ZipName, schemas.Download),
		e("held_by_hand", "A person holds the file: what was under way of it has ended, and nothing of it begins. The message says who, and why.", "Nothing, if that is as meant; tributary files release takes up what its sources show.", schemas.Download, schemas.Unzip, schemas.XSD),
		e("cancelled_by_hand", "A person has ended what was under way of the file. The message says who, and why. It is not tried again by itself.", "Nothing, if that was meant. A new version begins anew; to process this one, replay it.", schemas.Download, schemas.Unzip, schemas.XSD),
		e("source_suspended", "So many polls of the source in a row have failed (poll.suspend_after), over so long a time (poll.probe_interval), or fewer with errors of one class (poll.suspend_sooner), or it shows more than its max_entries, that it is suspended: only probes go there, less often the longer it fails, and nothing is fetched from it. The message says how the last poll failed.", "Remove the cause, check it with tributary sources check, and say tributary sources resume with the source's name. Without that it is available again after the first probe that shows something.", schemas.ZipName),
		e("source_unavailable", "The source is in maintenance, suspended, inactive, or outside of its window: its files are not fetched from there, and a poll of it that was under way in maintenance, or had not begun in its window, was ended.", "Nothing: the file is fetched once the source is available again or its window opens, and the source polled then. tributary sources resume makes it available, and tributary sources show says when its window opens.", schemas.ZipName, schemas.Download),
		e("schedule_invalid", "When the source is due can't be computed, for the reason that the message says: its definition may be a newer program's. So it was put into maintenance; other sources are polled as ever.", "Correct cron, time_zone, windows or interval as the message says, or upgrade the members with the role schedule, and say tributary sources resume with the source's name.", schemas.ZipName),
		e("too_many_entries", "The source lists more entries than its max_entries allows, files, directories and others together. Nothing of the listing is taken, nothing is concluded from it, and the source is suspended.", "See what lies there, and whether the url leads where it should. Have what is not meant taken away, or raise max_entries, and say tributary sources resume with the source's name.", schemas.ZipName),
		e("listing_too_long", "The source lists more than a poll takes: more entries (poll.max_entries), names that are longer together (poll.max_listing_bytes), more bytes than limits.listing, or more than can be kept in memory where the listing shows no exact times, or the server has no second channel. What it showed until then is recorded, and nothing is concluded from what it lacks.", "Ask the server's owner to move old files away, or raise the limit that the message names.", schemas.ZipName),
		e("poll_timed_out", "Listing the source, or recording what it showed, took longer than a poll may. What was recorded stays, and the next poll goes on with the rest.", wait+"Otherwise ask the server's owner to move old files away, or raise the limit.", schemas.ZipName),
		e("base_missing", "The source's base directory does not exist. Nothing is concluded from that: no file counts as gone.", "Have the share mounted, or correct the path in the source's url.", schemas.ZipName),
		e("directory_shrunk", "The listing lacks more of a directory's files than poll.max_missing_share. A server that was set up anew, or a sync that has only begun, looks like that, so nothing is concluded: no file counts as gone.", "Have the files put back. If they were really withdrawn, set may_be_empty: true for the source.", schemas.ZipName),
		e("base_emptied", "The base directory is there, but holds none of the directories add, edit and delete any more, though files were listed in them. A share that is not mounted looks like that, so nothing is concluded: no file counts as gone.", "Have the share mounted. If the files were really withdrawn, make the directories again, empty, or set may_be_empty: true for the source.", schemas.ZipName),
		e("directory_missing", "One of the directories add, edit and delete is no longer there, though files were listed in it, which the message names. What the others show is recorded, and nothing is concluded from what is lacking.", "Have the directory made or mounted again; it may be empty. If it was really taken away, set may_be_empty: true for the source.", schemas.ZipName),
		e("centre_not_hosted_here", "The file is of another centre than the one that runs the source, and sources[].hosts does not say that the source may show its files. Nothing is fetched from there; where another source may show the file, that one's is taken, and the file stands as if this one did not exist.", "Ask the centre that produced the file whether it lets the source show its files. If so, write the line of the message into the configuration: the source's next poll takes the file up. If not, ask whoever runs the source what the file is for.", schemas.ZipName, schemas.Download),
		e("entry_refused", "The database refuses what a server says of an entry, such as its time or size. The entry is recorded by its name alone and not fetched; the others are. Where even its name can't be recorded, the poll is broken off, and its message names the entry.", "Ask the server's owner what is wrong with the file, and report it with the message.", schemas.ZipName),
		e("poll_unrecorded", "How the poll ended could not be recorded, or it was taken again and again by members that ended while they were at it. It is given up, so that its session goes on without it; the source is polled again when it is due.", "Look into the log of the members for the reason, and report it with the message.", schemas.ZipName),
		e("listing_entry_invalid", "The size or the time that the server tells of the file is nothing that can be stored: a negative or too large size, a time that is not in the calendar, or a year outside of 1 to 9999. The file is not fetched.", "Ask the server's owner to correct the file's time (touch it), or what the server says about it.", schemas.ZipName),
		e("name_too_long", "The file's name has more than 1,024 bytes. It is shown with its beginning, a hash and its end, and not fetched.", "Ask the producer to rename the file.", schemas.ZipName),
		e("reply_too_long", "The server's reply to one request, or the header of it in HTTP, is longer than limits.reply, or an SFTP packet than 256 KiB. The connection was closed.", "Ask the server's owner what server it is, and why it answers so. If that is right, raise the limit."),
		e("protocol_error", "The server answers in a way that the protocol doesn't know, or without having been asked. The connection was closed.", wait+"Otherwise ask the server's owner what server it is, and why it answers so."),
		e("announced_source_unknown", "Another program announced a file at a source that there is not. It was not taken up.", "Correct the source in what announces it, or add the source.", schemas.ZipName),
		e("announced_source_removed", "Another program announced a file at a source that was removed. It was not taken up.", "Nothing, if that was meant; otherwise add the source again.", schemas.ZipName),
		e("announced_action_unknown", "Another program announced a file under an action that is none of add, edit and delete. It was not taken up.", "Correct what announces it.", schemas.ZipName),
		e("announced_change_unknown", "Another program announced a change of a file that is neither new nor changed. It was not taken up.", "Correct what announces it.", schemas.ZipName),
		e("announced_gone", "Another program announced that a file is gone. That is only concluded from complete listings of its source, so nothing changes.", "Nothing: the next polls find out.", schemas.ZipName),
		e("announced_file_mismatch", "Another program announced a file with an id that is not the one of its name and action. It was not taken up.", "Leave the id out, or correct it as the message says.", schemas.ZipName),
		e("announced_entry_invalid", "Another program announced a file with a name that is empty, too long or has characters that can't be shown, with a negative size, or with a time outside of the years 1 to 9999. It was not taken up.", "Correct what announces it, as the message says.", schemas.ZipName),
		e("announced_filtered", "Another program announced a file that a filter of its source excludes. It was not taken up.", "Announce it no more, or change the source's filters: tributary sources test-filter SOURCE shows what they do.", schemas.ZipName),
		e("cancelled", "The work was ended before it was done, because the program stopped or gave it to another member.", "Nothing: it is done again."),
	}
}

func fileNames() []Entry {
	e := func(name, happened, do string) Entry {
		return Entry{name, FileName, []schemas.Phase{schemas.ZipName}, happened, do}
	}
	return []Entry{
		e("zip_name_extension", "The file's name does not end as the profile says (for IMPC: .zip, in small letters). It is not fetched.", "Ask the producer to rename the file, or to move it elsewhere if it is no data."),
		e("zip_name_pattern", "The file's name does not have the profile's form (for IMPC: CENTRE.YYYY-MM-DD.INCREMENT.impc.zip), is too long, or has characters that no name may have. It is not fetched.", "Ask the producer to rename the file; the message shows the form and an example."),
		e("zip_name_date", "The date in the file's name is not in the calendar, such as 31 February.", "Ask the producer to rename the file."),
		e("name_twin", "The directory shows another name that differs from the file's only in case, or in how accents are written (NFC or NFD). This is a warning: both are taken as files of their own, and nothing of them is merged. Where files land in a place that takes both for one, one would replace the other.", "Ask the producer whether both are meant, and to rename or withdraw one of them."),
		e("zip_name_centre", "The centre in the file's name is not known.", "Add the centre (tributary centres add, or in the configuration), whereupon the name is judged again by itself; or ask the producer to rename the file."),
	}
}

func archives() []Entry {
	e := func(name, happened, do string) Entry {
		return Entry{name, Archive, []schemas.Phase{schemas.Unzip}, happened, do}
	}
	const again, pack = "Ask the producer to pack the documents again", "Ask the producer to pack the documents again with a common program"
	const damaged = " Other sources of the file are tried; if none has it whole, the file ends as corrupted_at_producer, and its message says this name."
	return []Entry{
		e("zip_not_an_archive", "The file is no zip file, or has bytes before, after or between its entries that belong to none, or two ends: programs would differ in what they find in it."+damaged, again+" and to upload the file in binary mode."),
		e("zip_truncated", "Bytes of the archive are missing."+damaged, "Ask the producer to upload the file again."),
		e("zip_crc_mismatch", "The bytes of an entry are not those that were packed."+damaged, "Ask the producer to upload the file again."),
		e("zip_size_mismatch", "An entry holds more or fewer bytes than its headers say, or its headers contradict each other."+damaged, again+"."),
		e("zip_name_mismatch", "An entry is named differently in the archive's directory and in its own header, so that programs would differ in what they unpack."+damaged, pack+"."),
		e("corrupted_at_producer", "The archive is damaged wherever it can be had. The message names what was found.", "Send the message to the producer, and ask for the file to be made and uploaded again."),
		e("zip_encrypted", "An entry needs a password.", again+" without a password."),
		e("zip_unsupported_method", "An entry is compressed by another method than deflate, such as deflate64, bzip2, lzma or zstd.", again+" with deflate, which is the common method."),
		e("zip_path_slip", "An entry's name has a part \"..\", which leads out of the archive's folder.", pack+", from inside their folder."),
		e("zip_path_absolute", "An entry's name is a path from the root or from a drive.", pack+", from inside their folder."),
		e("zip_path_backslash", "An entry's name has a backslash.", pack+", which writes slashes."),
		e("zip_symlink", "An entry is a symbolic link, a device, a pipe or a socket.", again+", as plain files."),
		e("zip_duplicate_entry", "Two entries have one name; or two documents have names that differ only in case or in how accents are written, which some programs take for one.", again+", each once."),
		e("zip_overlapping_entries", "Two entries share bytes, or an entry reaches into the archive's directory. Honest programs don't write such archives.", "Find out where the file comes from. "+pack+"."),
		e("zip_too_many_entries", "The archive has more entries than unzip.max_entries allows.", "Ask the producer for several smaller archives, or raise the limit."),
		e("zip_too_large", "The archive's entries, or its directory, hold more bytes than unzip.max_total or the program allow.", "Ask the producer for several smaller archives, or raise the limit."),
		e("zip_ratio", "An entry, or all together, unpack to far more than data ever do (unzip.max_ratio): it is a bomb, or holds padding.", "Find out what the entry holds. If it is right, raise the limit."),
		e("zip_nested", "The archive holds another archive. Archives in archives are not read.", "Ask the producer to put the documents themselves into one archive."),
		e("zip_name_invalid", "An entry's name is empty, too long, has control characters, or is not in the encoding that it says.", again+", with plain names."),
		e("no_documents", "No entry at the archive's root ends in .xml (in small letters). Documents in folders are not read.", "Ask the producer to pack the documents themselves, not the folder that they are in."),
	}
}
