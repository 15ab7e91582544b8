import { runChild } from './child.mjs'
import { SetupFailure } from './failure.mjs'

/** @import { Manifest } from './workspace.mjs' */

/**
 * @param {Manifest} manifest of the root
 * @param {string | undefined} name
 * @returns {string} the command line
 */
export function rootScript({ scripts = {} }, name) {
  const known = new Map(Object.entries(scripts))
  const command = name === undefined ? undefined : known.get(name)
  if (command !== undefined) return command
  throw new SetupFailure(
    name === undefined ? 'No script was named.' : `package.json has no script \`${name}\`.`,
    `use \`node scripts/boot.mjs <script>\` with one of: ${[...known.keys()].join(', ')}.`,
  )
}

/**
 * A plain command replaces the shell that finds it, so that it receives signals itself; anything else stays the shell's.
 * @param {string} command
 * @returns {string}
 */
export function shellLine(command) {
  const plain = /^[\w./@-]+(?=\s|$)/.test(command) && !/[;&|<>()`$\n]/.test(command)
  return `${plain ? 'exec ' : ''}${command} "$@"`
}

/**
 * Runs a script as `pnpm run` would, without starting pnpm.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<number>} the exit code
 */
export async function runScript(command, args, options) {
  const { code } = await runChild('/bin/sh', ['-c', shellLine(command), 'sh', ...args], options)
  return code
}
