import { spawnSync } from 'node:child_process'
import { thoroughly } from '../../../../scripts/thoroughly.ts'

/** The arguments of a `bulkhead` command, as a shell splits them. Words without quotes need no shell. */
export function wordsOf(command: string): readonly string[] {
  if (/^bulkhead [\w@./:= -]+$/.test(command)) return command.split(/ +/).slice(1).filter((word) => word !== '')
  const { stdout } = spawnSync('/bin/sh', ['-c', `bulkhead() { printf '%s\\0' "$@"; }\n${command}`], {
    encoding: 'utf8',
  })
  return stdout.split('\0').slice(0, -1)
}

/**
 * The same for a command that can run in the process of the test. Undefined if it needs a shell or another program.
 * `pnpm soak` starts every command in a process.
 */
export const argumentsOf = (command: string): readonly string[] | undefined =>
  thoroughly(/^bulkhead (?!mcp)/.test(command) && !/[|<>&;]|\$\(/.test(command), false) ? wordsOf(command) : undefined

/** The whole suite takes seconds. `npm test` runs it on the template in conformance.test.ts. */
export const withFewChecks = (command: string): string =>
  command.startsWith('bulkhead conformance') ? command + thoroughly(' --only manifest,package', '') : command
