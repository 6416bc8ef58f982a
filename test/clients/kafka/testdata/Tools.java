import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Scanner;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command line tools one after another in one process, since starting Java takes
 * longer than what they do. Each line of the input is a class, a standard input and arguments, all
 * in base64 with blanks between; each line of the output is an exit status and what was written.
 * The class "admin" stands for a call of AdminClient that web pages for Kafka make.
 */
public class Tools {
  /** Ends a tool where it would end the process. */
  static final class Quit extends RuntimeException {
    Quit() {
      super("the tool has ended", null, false, false);
    }
  }

  /** Passes on what is written to the output of the tool that runs: some keep System.out for ever. */
  static final class Current extends OutputStream {
    ByteArrayOutputStream to = new ByteArrayOutputStream();

    @Override
    public synchronized void write(int b) {
      to.write(b);
    }
  }

  /** Reads the input of the tool that runs. */
  static final class Input extends InputStream {
    InputStream from = InputStream.nullInputStream();

    @Override
    public int read() throws java.io.IOException {
      return from.read();
    }
  }

  static Integer status;

  public static void main(String[] args) throws Exception {
    PrintStream answers = System.out;
    Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
    Current out = new Current();
    Input in = new Input();
    System.setOut(new PrintStream(out, true));
    System.setErr(System.out);
    System.setIn(in);
    Exit.Procedure quit = (code, message) -> {
      if (status == null) {
        status = code;
      }
      throw new Quit();
    };
    Exit.setExitProcedure(quit);
    Exit.setHaltProcedure(quit);
    while (lines.hasNextLine()) {
      String[] words = Arrays.stream(lines.nextLine().split(" ", -1)).map(w -> new String(Base64.getDecoder().decode(w), StandardCharsets.UTF_8)).toArray(String[]::new);
      out.to = new ByteArrayOutputStream();
      in.from = new ByteArrayInputStream(words[1].getBytes(StandardCharsets.UTF_8));
      status = null;
      try {
        run(words[0], Arrays.copyOfRange(words, 2, words.length));
      } catch (Throwable e) {
        if (!(e instanceof Quit)) {
          System.out.println(e);
          status = 1;
        }
      }
      System.out.flush();
      answers.println((status == null ? 0 : status) + " " + Base64.getEncoder().encodeToString(out.to.toByteArray()));
      answers.flush();
    }
    Runtime.getRuntime().halt(0);
  }

  static void run(String name, String[] args) throws Throwable {
    if (name.equals("admin")) {
      admin(args[0], args[1], args[2], args[3]);
      return;
    }
    try {
      Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) args);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /** Makes one call and prints what it gives. */
  static void admin(String file, String call, String topic, String group) throws Exception {
    Properties p = new Properties();
    try (InputStream f = new FileInputStream(file)) {
      p.load(f);
    }
    try (Admin a = Admin.create(p)) {
      System.out.println(answer(a, call, topic, group));
    } catch (java.util.concurrent.ExecutionException e) {
      throw (Exception) e.getCause();
    }
  }

  @SuppressWarnings({"deprecation", "removal"}) // what tools call that are older than the newest version
  static Object answer(Admin a, String call, String topic, String group) throws Exception {
    TopicPartition first = new TopicPartition(topic, 0);
    switch (call) {
      case "describeCluster":
        return a.describeCluster().nodes().get();
      case "listTopics":
        return a.listTopics().names().get();
      case "describeTopics":
        return a.describeTopics(Set.of(topic)).allTopicNames().get();
      case "describeConfigs topic":
        return a.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.TOPIC, topic))).all().get();
      case "describeConfigs broker":
        String id = a.describeCluster().nodes().get().iterator().next().idString();
        return a.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.BROKER, id))).all().get();
      case "listConsumerGroups":
        return a.listConsumerGroups().all().get();
      case "describeConsumerGroups":
        return a.describeConsumerGroups(Set.of(group)).all().get();
      case "listConsumerGroupOffsets":
        return a.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
      case "listOffsets earliest":
        return a.listOffsets(Map.of(first, OffsetSpec.earliest())).all().get();
      case "listOffsets latest":
        return a.listOffsets(Map.of(first, OffsetSpec.latest())).all().get();
      case "listOffsets by time":
        return a.listOffsets(Map.of(first, OffsetSpec.forTimestamp(0))).all().get();
      case "listOffsets newest":
        return a.listOffsets(Map.of(first, OffsetSpec.maxTimestamp())).all().get();
      case "describeLogDirs":
        Integer node = a.describeCluster().nodes().get().iterator().next().id();
        return a.describeLogDirs(List.of(node)).allDescriptions().get();
      case "describeAcls":
        return a.describeAcls(AclBindingFilter.ANY).values().get();
      case "describeFeatures":
        return a.describeFeatures().featureMetadata().get();
      default:
        throw new IllegalArgumentException(call);
    }
  }
}
