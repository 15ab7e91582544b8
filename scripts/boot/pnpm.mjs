import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runChild } from './child.mjs'
import { failureOf, Interrupted, SetupFailure } from './failure.mjs'
import { say } from './say.mjs'

/** @import { Manifest } from './workspace.mjs' */

/**
 * @param {Manifest} manifest of the root
 * @returns {string}
 */
export function pnpmVersion({ packageManager = '' }) {
  const [, version] = /^pnpm@(\d+\.\d+\.\d+)/.exec(packageManager) ?? []
  if (version !== undefined) return version
  throw new SetupFailure(
    `package.json names \`${packageManager}\` as its packageManager, not an exact pnpm version.`,
    'restore `"packageManager": "pnpm@<version>"` in the root package.json.',
  )
}

/**
 * @param {string} root
 * @param {string} version
 * @returns {string} the folder of executables
 */
export const pnpmFolder = (root, version) => join(root, '.tools', `pnpm-${version}`, 'node_modules', '.bin')

/**
 * Puts pnpm beside the sources. It is fetched into a folder of another name, tried, and then renamed: what bears the right
 * name is whole.
 * @param {string} root
 * @param {string} version
 * @param {{ env: NodeJS.ProcessEnv, onStart: (pid: number) => void }} options
 */
export async function ensurePnpm(root, version, { env, onStart }) {
  const tools = join(root, '.tools')
  const whole = join(tools, `pnpm-${version}`)
  removePartial(tools)
  if (existsSync(join(pnpmFolder(root, version), 'pnpm'))) return

  say(`Getting pnpm ${version} from the npm registry into .tools (once, about 50 MB) …`)
  const partial = join(tools, `pnpm-${version}.partial-${process.pid}`)
  try {
    mkdirSync(partial, { recursive: true })
    // A package.json of its own makes npm install right here. `--prefix` would too, but then npm would no longer read the
    // machine's own npmrc, where a company names its registry and certificates.
    const manifest = { private: true, dependencies: { pnpm: version }, allowScripts: { pnpm: true } }
    writeFileSync(join(partial, 'package.json'), JSON.stringify(manifest))
    await npmInstall(partial, version, { env, onStart })
    tryOut(partial, version, env)
    rmSync(whole, { recursive: true, force: true })
    renameSync(partial, whole)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

/**
 * What killed runs left. Contract: the caller holds the lock, so nobody is writing there.
 * @param {string} tools
 */
function removePartial(tools) {
  if (!existsSync(tools)) return
  for (const name of readdirSync(tools)) {
    if (/^pnpm-.*\.partial-/.test(name)) rmSync(join(tools, name), { recursive: true, force: true })
  }
}

/**
 * @param {string} folder
 * @param {string} version
 * @param {{ env: NodeJS.ProcessEnv, onStart: (pid: number) => void }} options
 */
async function npmInstall(folder, version, { env, onStart }) {
  const args = ['install', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
  const ended = await runChild('npm', args, { cwd: folder, env, capture: true, onStart }).catch((error) => {
    throw new SetupFailure(
      `npm could not be started (${error.message}).`,
      'npm comes with Node; reinstall Node from https://nodejs.org, then run the same command again.',
    )
  })
  if (ended.interruptedBy) throw new Interrupted(ended.interruptedBy)
  if (ended.code !== 0) {
    const otherwise = 'run the same command again; if that repeats itself, look at the log that npm names above.'
    throw failureOf(`pnpm ${version} could not be fetched`, ended.output, otherwise)
  }
}

/**
 * @param {string} folder
 * @param {string} version
 * @param {NodeJS.ProcessEnv} env
 */
function tryOut(folder, version, env) {
  const executable = join(folder, 'node_modules', '.bin', 'pnpm')
  const { stdout, stderr, error } = spawnSync(executable, ['--version'], { cwd: folder, env, encoding: 'utf8' })
  if (stdout?.trim() === version) return
  throw new SetupFailure(
    `pnpm ${version} was fetched but does not run here: ${(stderr || error?.message || stdout || 'no output').trim()}`,
    [
      `see that pnpm supports ${process.platform} on ${process.arch} and that npm may run its install script`,
      '(`npm config get ignore-scripts` says false), then run the same command again.',
    ].join('\n'),
  )
}
