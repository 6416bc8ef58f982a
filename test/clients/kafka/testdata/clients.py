"""What a program in Python does with one of its two clients: arguments are the
client, what to do, a file of properties, a topic and a group."""

import sys

client, what, file, topic, group = sys.argv[1:]
settings = dict(line.strip().split("=", 1) for line in open(file) if "=" in line)


def confluent():
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient

    conf = {k: v for k, v in settings.items() if not k.startswith("sasl.jaas")}
    if what == "list":
        admin = AdminClient(conf)
        print(sorted(admin.list_topics(timeout=60).topics))
        print([g.group_id for g in admin.list_consumer_groups().result().valid])
    elif what in ("classic", "consumer"):
        c = Consumer({**conf, "group.id": group, "group.protocol": what, "auto.offset.reset": "earliest"})
        c.subscribe([topic])
        for _ in range(600):
            m = c.poll(1)
            if m is not None and m.error() is None:
                print(m.value())
                c.commit(m, asynchronous=False)
                break
        c.close()
    elif what == "produce":
        failed = []
        p = Producer(conf)
        p.produce(topic, b"written", on_delivery=lambda err, _: failed.append(err))
        p.flush(60)
        print("written" if failed == [None] else failed)


def kafka_python():
    import kafka

    conf = {"bootstrap_servers": settings["bootstrap.servers"]}
    if "sasl.username" in settings:
        conf.update(
            security_protocol=settings["security.protocol"],
            sasl_mechanism=settings["sasl.mechanism"],
            sasl_plain_username=settings["sasl.username"],
            sasl_plain_password=settings["sasl.password"],
        )
    if what == "list":
        admin = kafka.KafkaAdminClient(**conf)
        print(admin.list_topics())
        print(admin.list_consumer_groups() if hasattr(admin, "list_consumer_groups") else admin.list_groups())
        admin.close()
    elif what == "classic":
        c = kafka.KafkaConsumer(topic, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False, **conf)
        for m in c:
            print(m.value)
            c.commit()
            break
        c.close()
    elif what == "produce":
        p = kafka.KafkaProducer(**conf)
        p.send(topic, b"written").get(60)
        print("written")


try:
    {"confluent-kafka": confluent, "kafka-python": kafka_python}[client]()
except Exception as e:
    print(type(e).__name__, e)
    sys.exit(1)
