-- The tables of a ledger in PostgreSQL, and what guards them: see guards.py. {version} and {start} are filled in there.

CREATE SCHEMA dalenius;
CREATE TABLE dalenius.entries (
    seq bigint PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('open', 'account', 'charge', 'answer', 'steward', 'close')),
    account bigint NOT NULL,
    key text NOT NULL,
    body text NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL);
CREATE TABLE dalenius.head (
    one integer PRIMARY KEY CHECK (one = 1),
    version integer NOT NULL,
    seq bigint NOT NULL,
    hash text NOT NULL);
INSERT INTO dalenius.head VALUES (1, {version}, 0, '{start}');

-- What follows can be run again on a ledger of an earlier version.

-- `who` is "" for all together, else "by " and the analyst's name.
CREATE TABLE IF NOT EXISTS dalenius.spent (
    account bigint, who text, part text, amount numeric NOT NULL, PRIMARY KEY (account, who, part));
CREATE TABLE IF NOT EXISTS dalenius.pending (
    charge bigint PRIMARY KEY, account bigint NOT NULL, key text NOT NULL, made_by text NOT NULL);

-- What is open of an account, where a steward has done something to it.
CREATE TABLE IF NOT EXISTS dalenius.standing (
    account bigint PRIMARY KEY, allowed json NOT NULL, level json NOT NULL, renewed integer NOT NULL,
    closed boolean NOT NULL);
CREATE TABLE IF NOT EXISTS dalenius.granted (
    account bigint, who text, part text, amount numeric NOT NULL, PRIMARY KEY (account, who, part));

CREATE OR REPLACE FUNCTION dalenius.readable(body text) RETURNS json
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp IMMUTABLE AS $$
BEGIN
    -- The server's JSON cannot hold the character NUL.
    RETURN regexp_replace(body, '(?<!\\)((?:\\\\)*)\\u0000', '\1?', 'g')::json;
END $$;

CREATE OR REPLACE FUNCTION dalenius.need(holds boolean, what text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF holds IS NOT TRUE THEN RAISE EXCEPTION '%', what USING ERRCODE = 'DL001'; END IF;
END $$;

CREATE OR REPLACE FUNCTION dalenius.is_plain(content json) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- An object in which no name stands twice: readers disagree about which of the two counts.
    RETURN json_typeof(content) = 'object'
        AND (SELECT count(*) = count(DISTINCT key) FROM json_each(content));
END $$;

CREATE OR REPLACE FUNCTION dalenius.is_readable(body text) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- By everybody, for ever: nothing around the object, and no half of a character, which jsonb refuses.
    RETURN left(body, 1) = '{' AND right(body, 1) = '}' AND body::jsonb IS NOT NULL;
END $$;

CREATE OR REPLACE FUNCTION dalenius.are_amounts(content json) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN dalenius.is_plain(content) AND NOT EXISTS (
        SELECT 1 FROM json_each(content) WHERE json_typeof(value) <> 'string'
            OR key NOT IN ('amount', 'delta', 'shift')
            OR (value #>> '{}') !~ '^(0|[1-9][0-9]{0,200})(\.[0-9]{0,29}[1-9])?$');
END $$;

CREATE OR REPLACE FUNCTION dalenius.part_of(amounts json, name text) RETURNS numeric
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((amounts ->> name)::numeric, 0);
END $$;

CREATE OR REPLACE FUNCTION dalenius.within(less json, more json) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT 1 FROM json_each_text(less) WHERE value::numeric > dalenius.part_of(more, key));
END $$;

-- Whether the whole is one and the other together, less what is taken off.
CREATE OR REPLACE FUNCTION dalenius.is_sum(whole json, one json, other json, less json) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT 1 FROM (SELECT json_object_keys(whole) UNION SELECT json_object_keys(one)
            UNION SELECT json_object_keys(other) UNION SELECT json_object_keys(less)) AS parts (name)
        WHERE dalenius.part_of(whole, name)
            <> dalenius.part_of(one, name) + dalenius.part_of(other, name) - dalenius.part_of(less, name));
END $$;

CREATE OR REPLACE FUNCTION dalenius.add_up(
    in_account bigint, name text, cost json, told json, allowed json, share text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM dalenius.add_up(in_account, name, cost, told, allowed, share, '{}'::json, 0);
END $$;

-- `share` is the fraction of what is open; `own` so much more in every one of so many rounds; and what was granted.
CREATE OR REPLACE FUNCTION dalenius.add_up(
    in_account bigint, name text, cost json, told json, allowed json, share text, own json, rounds integer)
    RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    above numeric := split_part(share, '/', 1)::numeric;
    below numeric := coalesce(nullif(split_part(share, '/', 2), ''), '1')::numeric;
BEGIN
    PERFORM dalenius.need(dalenius.are_amounts(told), 'a charge must say what is spent after it');
    INSERT INTO dalenius.spent AS s SELECT in_account, name, key, value::numeric FROM json_each_text(cost)
        ON CONFLICT (account, who, part) DO UPDATE SET amount = s.amount + EXCLUDED.amount;
    -- A part that is not named is nothing.
    PERFORM dalenius.need(NOT EXISTS (
        SELECT 1 FROM (SELECT part, amount FROM dalenius.spent WHERE account = in_account AND who = name) s
            FULL JOIN json_each_text(told) t ON s.part = t.key
        WHERE coalesce(s.amount, 0) <> coalesce(t.value::numeric, 0)), 'a charge must say what is spent after it');
    PERFORM dalenius.need(NOT EXISTS (
        SELECT 1 FROM dalenius.spent s WHERE s.account = in_account AND s.who = name AND s.amount > 0
            AND s.amount * below > dalenius.part_of(allowed, s.part) * above + below * (
                rounds * dalenius.part_of(own, s.part)
                + coalesce((SELECT g.amount FROM dalenius.granted g
                    WHERE g.account = in_account AND g.who = name AND g.part = s.part), 0))),
        'a charge must fit the budget');
END $$;

CREATE OR REPLACE FUNCTION dalenius.check_charge(
    at bigint, in_account bigint, under text, body text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    content json := dalenius.readable(body);
    opening json;
    open_now json;
    rounds integer := 1;
    closed_ boolean;
    who_ text;
    share json;
    part text := '1';
    own json := '{}';
BEGIN
    SELECT dalenius.readable(e.body) INTO opening FROM dalenius.entries e
        WHERE e.seq = in_account AND e.kind = 'account';
    PERFORM dalenius.need(FOUND, 'a charge needs an account');
    open_now := opening -> 'limit';
    SELECT s.allowed, s.renewed + 1, s.closed INTO open_now, rounds, closed_ FROM dalenius.standing s
        WHERE s.account = in_account;
    IF NOT FOUND THEN
        open_now := opening -> 'limit';
        rounds := 1;
    END IF;
    PERFORM dalenius.need(closed_ IS NOT TRUE, 'the account was closed, for ever');
    PERFORM dalenius.need(
        coalesce(json_typeof(content -> 'analyst') IN ('string', 'null'), false)
            AND json_typeof(content -> 'question') = 'string' AND json_typeof(content -> 'time') = 'string'
            AND dalenius.are_amounts(content -> 'cost') AND dalenius.is_plain(content -> 'by'),
        'a charge must be written as dalenius writes them');
    PERFORM dalenius.need(
        content::text <> body OR under = encode(sha256(convert_to(content ->> 'question', 'UTF8')), 'hex'),
        'a charge is filed under its question');
    who_ := coalesce(content ->> 'analyst', '');
    PERFORM dalenius.need(
        (SELECT array_agg(key) FROM json_each(content -> 'by')) = ARRAY[who_],
        'a charge says what its analyst has spent, and no other');
    IF EXISTS (SELECT 1 FROM json_each(opening -> 'shares'))
        OR EXISTS (SELECT 1 FROM dalenius.granted g WHERE g.account = in_account) THEN
        share := opening -> 'shares' -> who_;
        part := '0';
        IF json_typeof(share) = 'string' THEN
            part := share #>> '{}';
        ELSIF json_typeof(share) = 'object' THEN
            own := share -> 'limit';
        ELSE
            PERFORM dalenius.need(
                EXISTS (SELECT 1 FROM dalenius.granted g WHERE g.account = in_account AND g.who = 'by ' || who_),
                'a charge must fit the share of its analyst');
        END IF;
    END IF;
    PERFORM dalenius.add_up(in_account, '', content -> 'cost', content -> 'spent', open_now, '1');
    PERFORM dalenius.add_up(
        in_account, 'by ' || who_, content -> 'cost', content -> 'by' -> who_, open_now, part, own, rounds);
    INSERT INTO dalenius.pending VALUES (at, in_account, under, session_user);
END $$;

-- What a steward does: the same rules as in standing.py.
CREATE OR REPLACE FUNCTION dalenius.check_act(in_account bigint, body text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    content json := dalenius.readable(body);
    opening json;
    now_ dalenius.standing;
    granted_ json;
BEGIN
    SELECT dalenius.readable(e.body) INTO opening FROM dalenius.entries e
        WHERE e.seq = in_account AND e.kind = 'account';
    PERFORM dalenius.need(FOUND, 'a steward''s act needs an account');
    INSERT INTO dalenius.standing VALUES (in_account, opening -> 'limit', opening -> 'limit', 0, false)
        ON CONFLICT (account) DO NOTHING;
    SELECT * INTO now_ FROM dalenius.standing WHERE account = in_account;
    PERFORM dalenius.need(NOT now_.closed, 'the account was closed, for ever');
    CASE content ->> 'act'
    WHEN 'raise' THEN
        PERFORM dalenius.need(
            dalenius.are_amounts(content -> 'level') AND dalenius.are_amounts(content -> 'limit')
                AND dalenius.within(now_.level, content -> 'level')
                AND dalenius.within(content -> 'level', coalesce(opening -> 'plan' -> 'most', opening -> 'limit'))
                AND dalenius.is_sum(content -> 'limit', now_.allowed, content -> 'level', now_.level),
            'a budget is raised up to its ceiling, and no further');
        UPDATE dalenius.standing SET allowed = content -> 'limit', level = content -> 'level'
            WHERE account = in_account;
    WHEN 'renew' THEN
        PERFORM dalenius.need(
            dalenius.are_amounts(content -> 'limit')
                AND now_.renewed < coalesce((opening -> 'plan' ->> 'renewals')::integer, 0)
                AND (content ->> 'renewal')::integer = now_.renewed + 1
                AND dalenius.is_sum(content -> 'limit', now_.allowed, now_.level, '{}'::json),
            'an account is renewed as often as was settled, and no more');
        UPDATE dalenius.standing SET allowed = content -> 'limit', renewed = now_.renewed + 1
            WHERE account = in_account;
    WHEN 'share' THEN
        granted_ := content -> 'share' -> 'limit';
        PERFORM dalenius.need(
            dalenius.are_amounts(granted_) AND json_typeof(content -> 'analyst') = 'string'
                AND content ->> 'analyst' <> '' AND NOT EXISTS (
                SELECT 1 FROM json_each_text(granted_) WHERE value::numeric > dalenius.part_of(now_.allowed, key)
                    - coalesce((SELECT s.amount FROM dalenius.spent s
                        WHERE s.account = in_account AND s.who = '' AND s.part = key), 0)),
            'a share is granted out of what is left');
        INSERT INTO dalenius.granted AS g
            SELECT in_account, 'by ' || (content ->> 'analyst'), key, value::numeric FROM json_each_text(granted_)
            ON CONFLICT (account, who, part) DO UPDATE SET amount = g.amount + EXCLUDED.amount;
    WHEN 'close' THEN
        UPDATE dalenius.standing SET closed = true WHERE account = in_account;
    ELSE
        RAISE EXCEPTION 'a steward raises, renews, shares or closes' USING ERRCODE = 'DL001';
    END CASE;
END $$;

CREATE OR REPLACE FUNCTION dalenius.check_answer(
    in_account bigint, under text, body text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    content json := dalenius.readable(body);
BEGIN
    PERFORM dalenius.need(
        json_typeof(content -> 'charge') = 'number' AND (content ->> 'charge') ~ '^[1-9][0-9]{0,17}$'
            AND json_typeof(content -> 'answer') = 'string' AND json_typeof(content -> 'time') = 'string',
        'an answer must be written as dalenius writes them');
    DELETE FROM dalenius.pending p WHERE p.charge = (content ->> 'charge')::bigint AND p.account = in_account
        AND p.key = under AND (p.made_by = session_user OR pg_has_role(session_user, current_user, 'USAGE'));
    PERFORM dalenius.need(FOUND, 'an answer needs a charge of its own');
END $$;

CREATE OR REPLACE FUNCTION dalenius.follow() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    backslash text := chr(92);
BEGIN
    PERFORM 1 FROM dalenius.head WHERE NEW.seq = seq + 1 AND NEW.previous = hash FOR UPDATE;
    PERFORM dalenius.need(FOUND, 'an entry must follow the last one');
    PERFORM dalenius.need(
        NEW.key ~ '^([0-9a-f]{64})?$' AND octet_length(NEW.body) = char_length(NEW.body)
            AND NEW.body !~ '[[:cntrl:]]' AND dalenius.is_plain(dalenius.readable(NEW.body)),
        'the body of an entry is one line of plain JSON');
    PERFORM dalenius.need(
        NEW.hash = encode(sha256(convert_to(
            '["dalenius ledger", {version}, ' || NEW.seq || ', "' || NEW.kind || '", ' || NEW.account || ', "'
            || NEW.key || '", "'
            || replace(replace(NEW.body, backslash, backslash || backslash), '"', backslash || '"')
            || '", "' || NEW.previous || '"]', 'UTF8')), 'hex'),
        'the hash of an entry is that of its content');
    IF NEW.kind = 'charge' THEN
        PERFORM dalenius.check_charge(NEW.seq, NEW.account, NEW.key, NEW.body);
    ELSIF NEW.kind = 'answer' THEN
        PERFORM dalenius.check_answer(NEW.account, NEW.key, NEW.body);
    ELSIF NEW.kind = 'steward' THEN
        PERFORM dalenius.check_act(NEW.account, NEW.body);
    END IF;
    UPDATE dalenius.head SET seq = NEW.seq, hash = NEW.hash;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION dalenius.turn() RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SECURITY DEFINER AS $$
BEGIN
    PERFORM 1 FROM dalenius.head FOR UPDATE;
END $$;

CREATE OR REPLACE FUNCTION dalenius.append(
    seq_ bigint, kind_ text, account_ bigint, key_ text, body_ text, previous_ text, hash_ text)
    RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SECURITY DEFINER AS $$
BEGIN
    IF NOT pg_has_role(session_user, current_user, 'USAGE') THEN
        PERFORM dalenius.need(
            kind_ IN ('charge', 'answer'),
            'accounts are opened by the owner of the ledger; ask them to open this one, as they would open a session');
        -- What this user writes everybody must be able to read: nothing deep, no endless numbers, no NUL.
        PERFORM dalenius.need(
            length(body_) <= 120000000 AND dalenius.is_readable(body_) AND body_ !~ '(?<!\\)((?:\\\\)*)\\u0000' AND NOT EXISTS (
                SELECT 1 FROM json_each(body_::json) WHERE json_typeof(value) NOT IN ('string', 'boolean', 'null')
                    AND NOT (kind_ = 'charge' AND key IN ('cost', 'spent', 'by'))
                    AND NOT (kind_ = 'answer' AND key = 'charge')),
            'an entry must be written as dalenius writes them');
    END IF;
    INSERT INTO dalenius.entries VALUES (seq_, kind_, account_, key_, body_, previous_, hash_);
END $$;

CREATE OR REPLACE FUNCTION dalenius.refuse() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is only ever added to';
END $$;

CREATE OR REPLACE FUNCTION dalenius.only_by_entries() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_trigger_depth() < 2 OR NEW.one <> 1 OR NEW.version <> OLD.version OR NEW.seq <> OLD.seq + 1 THEN
        RAISE EXCEPTION 'the head follows the entries';
    END IF;
    RETURN NEW;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dalenius FROM PUBLIC;

-- The guards themselves: of a new ledger alone.

CREATE TRIGGER entries_follow BEFORE INSERT ON dalenius.entries
    FOR EACH ROW EXECUTE FUNCTION dalenius.follow();
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON dalenius.entries
    FOR EACH STATEMENT EXECUTE FUNCTION dalenius.refuse();
CREATE TRIGGER head_follows BEFORE UPDATE ON dalenius.head
    FOR EACH ROW EXECUTE FUNCTION dalenius.only_by_entries();
CREATE TRIGGER head_stays BEFORE INSERT OR DELETE OR TRUNCATE ON dalenius.head
    FOR EACH STATEMENT EXECUTE FUNCTION dalenius.refuse();
