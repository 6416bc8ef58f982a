package exception

import (
	"tributary/schemas"
)

func documentNames() []Entry {
	e := func(name, happened, do string) Entry {
		return Entry{name, DocumentName, []schemas.Phase{schemas.XMLName}, happened, do}
	}
	const rename = "Ask the producer to rename the document and to pack it again."
	return []Entry{
		e("document_name_extension", "The document's name does not end as the profile says.", rename),
		e("document_name_pattern", "The document's name does not have the profile's form (for IMPC: CENTRE.YYYY-MM-DD.INCREMENT.KIND.impc.xml), or is too long. The file's other documents are not affected.", rename+" The message shows the form and an example."),
		e("document_name_kind", "The document's name is of a kind that the profile does not have (for IMPC: specimen or experiment).", rename),
		e("document_name_date", "The date in the document's name is not in the calendar, such as 31 February.", rename),
		e("document_name_centre", "The centre in the document's name is not known.", "Add the centre (tributary centres add, or in the configuration) and replay the file; or ask the producer to rename the document."),
	}
}

func documents() []Entry {
	e := func(name, happened, do string) Entry {
		return Entry{name, Document, []schemas.Phase{schemas.XSD}, happened, do}
	}
	const correct = "Send the message, with line and column, to the producer, who should correct the document"
	return []Entry{
		e("xml_not_well_formed", "The document is not XML: a tag is not closed, a character like & or < stands alone, the document ends early, or it is something else. Nothing after the place is judged.", correct+", and write XML with a library rather than by joining text."),
		e("xml_doctype_refused", "The document has a document type declaration (DOCTYPE). None is ever accepted, since they are the way of entity bombs and of reading files of the server.", correct+": the line with DOCTYPE can just be removed."),
		e("xml_entity_refused", "The document refers to an entity that XML does not have by itself, such as &nbsp;.", correct+": use the character itself, or its number, such as &#160;."),
		e("xml_encoding", "The document's bytes are not in the encoding that it declares, or that encoding is not accepted.", correct+": write UTF-8, and declare nothing else."),
		e("xml_version", "The document declares another version of XML than 1.0.", correct+": declare version 1.0."),
		e("xml_limit", "The document is beyond a limit: too deep, too many attributes, one text, name or comment too long, or too large as a whole.", correct+", or split it. The limits are those of validate in the configuration."),
		e("xsd_invalid", "The document is XML, but does not follow the schema: an element or attribute is unknown, missing or in the wrong place, or a value is not of its type. All such errors are listed, up to a cap.", correct+"."),
	}
}

func loading() []Entry {
	e := func(name, happened, do string) Entry {
		return Entry{name, Loading, []schemas.Phase{schemas.Upload}, happened, do}
	}
	const correct = "Send the message to the producer, who should correct the document and submit it again."
	return []Entry{
		e("centre_mismatch", "The document's name, or the document itself, is of another centre than its file. Nothing of it is loaded.", correct+" Each centre's data belong in its own files."),
		e("value_out_of_range", "A value is of its type, but the warehouse can't hold it: a date beyond the years 1 to 9999, or a number of too many digits. Nothing of the document is loaded.", correct),
		e("element_too_large", "One element holds more than can be kept while the document is read. Nothing of the document is loaded.", "Ask the producer to split the record, or to check whether it is meant."),
		e("duplicate_key", "The same record, by its natural key, is twice in one document. Nothing of the document is loaded, since nobody can tell which counts.", correct),
		e("document_unreadable", "The document passed validation, but can't be read for loading: its place in its archive is told wrongly, or it is beyond a limit of reading. Stored bytes that are damaged are never the reason: see blob_damaged.", "Replay the file from its download. If that does not help, report it with the message."),
		e(schemas.PassedOver, "Somebody decided with tributary topics pass-over that the content of the document's position is lost, so that insertion goes on: its record in the order contradicted others. Nothing of the document is loaded. The message says who decided it, and why.", "Replay the file: its documents are given new positions."),
		e("row_refused", "The warehouse refuses a row of the document. The message is Postgres's own.", "Report it with the message: the profile's tables and its schema differ in what they allow."),
	}
}

func anywhere() []Entry {
	return []Entry{
		{schemas.Quarantined, Any, []schemas.Phase{schemas.Download, schemas.Unzip, schemas.XSD, schemas.Upload},
			"The work on this file or document crashed, or outran its time, again and again. It is set aside so that others go on; its event is in a dead-letter topic.",
			"Report it with the message, and keep the file. Once it is mended, retry it: tributary dlq list names it."},
		{schemas.EventTooLarge, Any, []schemas.Phase{schemas.ZipName, schemas.Upload},
			"What was to be told about this file or document is larger than any Kafka topic takes. Only an older version of the program can have written such an event; today it is refused where it is made, and texts are cut. A document's place in the order was given to a failed one.",
			"Look at what was kept of it with tributary dlq list, then replay the file."},
		{"blob_damaged", Any, []schemas.Phase{schemas.Download},
			"The stored bytes of the file were found damaged, or gone: they are not those that they are named after. Nothing is said of the file or its documents by what is left of them, and nobody is blamed; this attempt fetches the bytes again from a source that still shows the file. Whatever it brings, it makes no new version.",
			"Nothing for the file: what waits for its bytes goes on once they are there. If it happens often, look for the reason in the disk of the blobs. tributary blobs damaged lists what was found."},
		{"blob_lost", Any, []schemas.Phase{schemas.Download, schemas.Unzip, schemas.XSD, schemas.Upload},
			"The stored bytes of the file are damaged or gone, and no source has these bytes any more, so that what waited for them has ended. What was inserted before stays.",
			"Put the right bytes in the place of the blob that the message names, or ask the producer to upload the file again; while a source shows the file it is tried again by itself, and tributary blobs verify --repair looks everywhere at once. A document that ended so at its upload is brought back by a replay of its file."},
		{"unnamed", Any, nil, "Something failed, and the event that tells it gives no name.", "Report it: no failure should be without a name."},
	}
}
