-- Who a message is to, from the message: one that is removed takes these along.
CREATE INDEX message_to_whom ON message_to (message);
