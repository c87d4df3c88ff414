-- Made by the code of commit 56b1cf2, the last that kept a database.
BEGIN TRANSACTION;
CREATE TABLE event (
            id INTEGER PRIMARY KEY,
            spool INTEGER NOT NULL REFERENCES spool (id) ON DELETE CASCADE,
            offset INTEGER NOT NULL,
            session TEXT NOT NULL,
            at REAL NOT NULL,
            event TEXT NOT NULL,
            occupancy INTEGER,
            tail INTEGER,
            window INTEGER,
            window_source TEXT,
            compaction INTEGER,
            tier INTEGER,
            transcript_offset INTEGER,
            "trigger" TEXT,
            spoke INTEGER,
            blocked INTEGER,
            tool TEXT,
            summary_characters INTEGER,
            source TEXT,
            model TEXT,
            cwd TEXT,
            transcript TEXT,
            extra TEXT,
            UNIQUE (spool, offset)
        );
INSERT INTO "event" VALUES(1,1,0,'resumed',1790010000.0,'SessionStart',NULL,NULL,200000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'startup','claude-opus-5','/home/dev/project','/none.jsonl',NULL);
INSERT INTO "event" VALUES(2,1,166,'resumed',1790010001.0,'UserPromptSubmit',40000,5,200000,NULL,NULL,NULL,10,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(3,1,274,'resumed',1790010002.0,'PostToolUse',120000,NULL,200000,NULL,NULL,1,20,NULL,NULL,NULL,NULL,NULL,NULL,'claude-opus-5',NULL,NULL,NULL);
INSERT INTO "event" VALUES(4,1,402,'resumed',1790010003.0,'Announced',NULL,NULL,200000,NULL,NULL,NULL,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(5,1,474,'resumed',1790010004.0,'Blocked',NULL,NULL,200000,NULL,NULL,NULL,NULL,NULL,NULL,1,'Skill',NULL,NULL,NULL,NULL,NULL,'{"subject":"deploy"}');
INSERT INTO "event" VALUES(6,1,583,'resumed',1790010005.0,'PreCompact',166000,50,200000,NULL,NULL,NULL,30,'auto',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(7,1,704,'resumed',1790010006.0,'SessionStart',NULL,NULL,200000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'compact',NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(8,1,788,'resumed',1790010007.0,'PostCompact',NULL,NULL,200000,NULL,NULL,NULL,NULL,'auto',NULL,NULL,NULL,9000,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(9,1,895,'resumed',1790010008.0,'UserPromptSubmit',NULL,NULL,200000,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(10,1,992,'resumed',1790010009.0,'PostToolUse',52000,NULL,200000,NULL,NULL,NULL,40,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(11,2,0,'gone',1790000000.0,'SessionStart',NULL,NULL,200000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'startup','claude-opus-5','/home/dev/project','/none.jsonl',NULL);
INSERT INTO "event" VALUES(12,2,166,'gone',1790000001.0,'UserPromptSubmit',40000,5,200000,NULL,NULL,NULL,10,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(13,2,274,'gone',1790000002.0,'PostToolUse',120000,NULL,200000,NULL,NULL,1,20,NULL,NULL,NULL,NULL,NULL,NULL,'claude-opus-5',NULL,NULL,NULL);
INSERT INTO "event" VALUES(14,2,402,'gone',1790000003.0,'Announced',NULL,NULL,200000,NULL,NULL,NULL,NULL,NULL,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(15,2,474,'gone',1790000004.0,'Blocked',NULL,NULL,200000,NULL,NULL,NULL,NULL,NULL,NULL,1,'Skill',NULL,NULL,NULL,NULL,NULL,'{"subject":"deploy"}');
INSERT INTO "event" VALUES(16,2,583,'gone',1790000005.0,'PreCompact',166000,50,200000,NULL,NULL,NULL,30,'auto',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(17,2,704,'gone',1790000006.0,'SessionStart',NULL,NULL,200000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'compact',NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(18,2,788,'gone',1790000007.0,'PostCompact',NULL,NULL,200000,NULL,NULL,NULL,NULL,'auto',NULL,NULL,NULL,9000,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(19,2,895,'gone',1790000008.0,'UserPromptSubmit',NULL,NULL,200000,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "event" VALUES(20,2,992,'gone',1790000009.0,'PostToolUse',52000,NULL,200000,NULL,NULL,NULL,40,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE recorded (
            path TEXT NOT NULL REFERENCES transcript (path) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            uuid TEXT,
            at REAL,
            "trigger" TEXT,
            pre_tokens INTEGER,
            post_tokens INTEGER,
            summary_characters INTEGER,
            PRIMARY KEY (path, number)
        );
INSERT INTO "recorded" VALUES('p/older.jsonl',0,'00000000-0000-0000-0000-000000000001',1789995001.0,'manual',155301,44664,11645);
CREATE TABLE spool (
            id INTEGER PRIMARY KEY,
            session TEXT NOT NULL,
            file TEXT NOT NULL,
            offset INTEGER NOT NULL DEFAULT 0,
            damaged INTEGER NOT NULL DEFAULT 0,
            drained_at REAL NOT NULL DEFAULT 0,
            UNIQUE (session, file)
        );
INSERT INTO "spool" VALUES(1,'resumed','5c94583a298bc43bea902545',1086,0,1.79477296125413584714e+09);
INSERT INTO "spool" VALUES(2,'gone','965e7fc7e9d867cc373f363c',1091,1,1.79477296125413584714e+09);
CREATE TABLE transcript (
            path TEXT PRIMARY KEY,
            session TEXT NOT NULL,
            size INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL
        );
INSERT INTO "transcript" VALUES('p/older.jsonl','older',12866,1794772961359442360);
CREATE INDEX event_by_session ON event (session, at);
CREATE INDEX event_by_name ON event (event, at);
CREATE INDEX transcript_by_session ON transcript (session);
COMMIT;
PRAGMA user_version = 2;
