import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exitCodeOf } from './child.mjs'
import { installEnvironment, scriptEnvironment } from './environment.mjs'
import { failureOf, Interrupted, SetupFailure } from './failure.mjs'
import { acquireLock } from './lock.mjs'
import { installPackages } from './packages.mjs'
import { pinnedNode, tryOutNode } from './pinned-node.mjs'
import { ensurePnpm, pnpmFolder, pnpmVersion } from './pnpm.mjs'
import { rootScript, runScript } from './root-script.mjs'
import { say } from './say.mjs'
import { fingerprint, isSetUp, removeStamp, writeStamp } from './stamp.mjs'
import { readManifest } from './workspace.mjs'

/** @import { Manifest } from './workspace.mjs' */

/** @param {readonly string[]} argv a script of the root package.json and its arguments */
export async function boot([name, ...args]) {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  try {
    const manifest = readManifest(root)
    const command = rootScript(manifest, name)
    const executables = await setUp(root, manifest)
    process.exitCode = await runScript(command, args, { cwd: root, env: scriptEnvironment(process.env, executables) })
  } catch (error) {
    process.exitCode = explain(error)
  }
}

/**
 * Contract: when everything is there already, nothing is started but the pinned Node (to see that it runs), and the
 * network is not used.
 * @param {string} root
 * @param {Manifest} manifest
 * @returns {Promise<string[]>} the folders of executables that scripts need
 */
async function setUp(root, manifest) {
  const version = pnpmVersion(manifest)
  const nodeVersion = pinnedNode(manifest, process.platform, process.arch)
  const executables = [join(root, 'node_modules', '.bin'), pnpmFolder(root, version)]
  const node = join(root, 'node_modules', '.bin', 'node')
  const pnpm = join(pnpmFolder(root, version), 'pnpm')
  if (isSetUp(root, pnpm)) {
    tryOutNode(node, nodeVersion)
    return executables
  }

  const lockFile = join(root, '.tools', 'boot.lock')
  const lock = await acquireLock(lockFile, (pid) => {
    say(`Waiting for another setup of this folder (process ${pid ?? 'unknown'}; its lock is ${lockFile}) …`)
  })
  try {
    if (isSetUp(root, pnpm)) return executables
    const began = Date.now()
    const options = { env: installEnvironment(process.env), onStart: lock.include }
    const state = fingerprint(root)
    removeStamp(root)
    await ensurePnpm(root, version, options)
    await installPackages(root, pnpm, options)
    tryOutNode(node, nodeVersion)
    writeStamp(root, state)
    say(`Everything is set up (${((Date.now() - began) / 1000).toFixed(1)} s). The next start needs no network.`)
    return executables
  } finally {
    lock.release()
  }
}

/**
 * @param {unknown} error
 * @returns {number} the exit code
 */
function explain(error) {
  if (error instanceof Interrupted) {
    process.stderr.write('\n✗ The setup was interrupted. The same command continues it.\n')
    return exitCodeOf(error.signal)
  }
  const failure = error instanceof SetupFailure ? error : systemFailure(error)
  if (!failure) throw error
  process.stderr.write(failure.describe())
  return 1
}

/**
 * A full disk or a folder that belongs to someone else stops the setup's own file operations as well.
 * @param {unknown} error
 * @returns {SetupFailure | undefined}
 */
function systemFailure(error) {
  if (!(error instanceof Error && 'syscall' in error)) return undefined
  return failureOf(`The setup stopped (${error.message})`, error.message, 'run the same command again.')
}
