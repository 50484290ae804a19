// What every Node client script shares: its arguments, one line for each assertion, and an end at the first failure.

/** Reads `ERA (--url URL | COMMAND ARGS..)`. */
export function target(argv = process.argv.slice(2)) {
  const [era, ...rest] = argv;
  if (!['modern', 'legacy'].includes(era) || rest.length === 0) {
    console.error('usage: SCRIPT modern|legacy (--url URL | COMMAND [ARGUMENT..])');
    process.exit(2);
  }
  return rest[0] === '--url' ? { era, url: rest[1] } : { era, command: rest[0], args: rest.slice(1) };
}

/** An assertion that did not hold; it was printed already. */
class Failed extends Error {}

/** Prints the assertion, and leaves the script if it does not hold. */
export function ok(holds, assertion, got) {
  if (holds) {
    console.log(`ok - ${assertion}`);
    return;
  }
  console.log(`not ok - ${assertion}`);
  if (got !== undefined) console.log(`    got ${JSON.stringify(got)}`);
  throw new Failed(assertion);
}

/** Runs a script; whatever it throws is a failed assertion too. */
export async function main(body) {
  try {
    await body();
    process.exit(0);
  } catch (error) {
    if (!(error instanceof Failed)) {
      console.log('not ok - the script runs to its end');
      console.log(`    got ${error?.stack ?? error}`);
    }
    process.exit(1);
  }
}

/** The text blocks of a tool result. */
export const text = (result) => (result.content ?? []).map((block) => block.text ?? '').join('\n');

/** Waits until `probe` gives something true, for at most `ms`. */
export async function until(probe, ms = 5000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await probe();
    if (found || Date.now() > end) return found;
    await new Promise((resume) => setTimeout(resume, 50));
  }
}
