-- One job can carry many messages of a queue. A relay that looks for messages which their queue has lost asks for this job.
alter table outbox add column enqueued_as uuid;
comment on column outbox.enqueued_as is 'The id of the job that carries the message on its queue; null: the id of the message';
