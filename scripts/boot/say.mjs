/**
 * Progress goes to stderr: what the script itself prints stays alone on stdout.
 * @param {string} text
 */
export function say(text) {
  process.stderr.write(`› ${text}\n`)
}
