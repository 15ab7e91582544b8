// Sets up a fresh clone, then runs a script of the root package.json: `node scripts/boot.mjs <script> [arguments]`.
// Needs Node 20 and npm. Once a folder is set up, the script starts at once and without network.
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from './boot/environment.mjs'
import { run } from './boot/run.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** @type {{ packageManager: string, scripts: Record<string, string>, optionalDependencies: Record<string, string> }} */
const manifest = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8'))
const tools = join(root, '.tools')
const pnpmVersion = manifest.packageManager.replace('pnpm@', '')
const pnpmFolder = join(tools, `pnpm-${pnpmVersion}`)
const pnpm = join(pnpmFolder, 'node_modules', '.bin', 'pnpm')
const node = join(root, 'node_modules', '.bin', 'node')
const stamp = join(root, 'node_modules', '.bulkhead-setup')
const lock = join(tools, 'boot.lock')
const env = cleanEnvironment(process.env)
const NO_NETWORK = `The npm registry could not be reached. Check your network connection and try again.
  Behind a proxy:       export HTTPS_PROXY=http://host:port
  With a mirror:        npm config set registry https://…
  With a company's CA:  npm config set cafile /path/to/ca.pem`

/** Progress goes to stderr, because stdout belongs to the script. @param {string} text */
const say = (text) => process.stderr.write(`› ${text}\n`)

/** Returns undefined if the action fails with this code. @template T @param {string} code @param {() => T} action */
function unless(code, action) {
  try {
    return action()
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== code) throw error
  }
}

/** Identifies what `pnpm install` would install: the lockfile, the manifest of each package in it, and the platform. */
function fingerprint() {
  const lockfile = fs.readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8')
  const [importers = ''] = /^importers:\n(\n| .*\n)*/m.exec(lockfile) ?? []
  const folders = [...importers.matchAll(/^ {2}(\S+):/gm)].map(([, folder = '']) => folder)
  const files = ['pnpm-workspace.yaml', ...folders.map((folder) => join(folder, 'package.json'))]
  const contents = files.map((file) => unless('ENOENT', () => fs.readFileSync(join(root, file), 'utf8')))
  return createHash('sha256').update(JSON.stringify([process.platform, process.arch, lockfile, contents])).digest('hex')
}

const isSetUp = () => fs.existsSync(pnpm) && fs.existsSync(node) &&
  unless('ENOENT', () => fs.readFileSync(stamp, 'utf8')) === fingerprint()

/** Runs one step of the setup. @param {string} command @param {readonly string[]} args @param {string} cwd */
async function step(command, args, cwd, more = {}) {
  const { code, interrupted, output } = await run(command, args, { cwd, env: { ...env, ...more }, capture: true })
  if (interrupted) process.exitCode = code || 130
  if (interrupted) throw new Error('The setup was interrupted. Run the same command to continue.')
  if (code === 0) return
  const offline = /ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|UNREACH|_TIMEOUT|FETCH_FAIL|NETWORK_ERR|sending request|_CERT/
  const advice = offline.test(output) ? NO_NETWORK : 'Try again. If that fails, delete .tools and node_modules first.'
  const end = output.split('\n').slice(-20).join('\n')
  throw new Error(`\`${command} ${args.join(' ')}\` failed:\n\n${end}\n\n${advice}`)
}

/** Fetches pnpm into a temporary folder and renames that folder, so that an interruption cannot leave half of it. */
async function fetchPnpm() {
  say(`Fetching pnpm ${pnpmVersion} into .tools (50 MB)`)
  const partial = `${pnpmFolder}.partial`
  fs.rmSync(partial, { recursive: true, force: true })
  fs.mkdirSync(partial)
  // npm installs next to the nearest package.json. `--prefix` would skip the npmrc of the machine.
  const wanted = { private: true, dependencies: { pnpm: pnpmVersion }, allowScripts: { pnpm: true } }
  fs.writeFileSync(join(partial, 'package.json'), JSON.stringify(wanted))
  const options = ['--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts=false']
  await step('npm', ['install', ...options], partial, npmCache(join(partial, 'cache')))
  fs.rmSync(join(partial, 'cache'), { recursive: true, force: true })
  fs.renameSync(partial, pnpmFolder)
}

/** npm keeps what it fetches in the home folder, and fails if it cannot. @param {string} otherwise */
function npmCache(otherwise) {
  const { HOME = '', npm_config_cache: chosen } = env
  const folder = chosen || [join(HOME, '.npm'), HOME].find((path) => fs.existsSync(path))
  try {
    fs.accessSync(folder ?? '', fs.constants.W_OK)
    return {}
  } catch {
    return { npm_config_cache: otherwise }
  }
}

/** The lock is a symbolic link to the number of its process: one atomic step creates it together with its content. */
async function acquireLock() {
  fs.mkdirSync(tools, { recursive: true })
  for (let waiting = false; ; await delay(100)) {
    if (unless('EEXIST', () => fs.symlinkSync(String(process.pid), lock) ?? true)) return
    const holder = unless('ENOENT', () => Number(fs.readlinkSync(lock)))
    if (holder === undefined) continue
    // A killed process leaves its lock. After a restart of a container, its number can be our own.
    const exists = () => unless('EPERM', () => process.kill(holder, 0)) ?? true
    const running = holder !== process.pid && unless('ESRCH', exists)
    if (!running) fs.rmSync(lock, { force: true })
    else if (!waiting) say(`Waiting for another setup (process ${holder}). If there is none, delete ${lock}`)
    waiting ||= running === true
  }
}

async function setUp() {
  if (isSetUp()) return
  const platform = `${process.platform}-${process.arch}`
  const [, nodeVersion] = Object.entries(manifest.optionalDependencies).find(([name]) => name.startsWith('node-') && name.endsWith(platform)) ?? []
  if (!nodeVersion) throw new Error(`${platform} is not supported. Use Linux or macOS. On Windows, use WSL 2.`)
  await acquireLock()
  try {
    if (isSetUp()) return
    const started = Date.now()
    const state = fingerprint()
    say(fs.existsSync(stamp) ? 'The dependencies changed.' : 'First start: setting up. This takes about a minute.')
    fs.rmSync(stamp, { force: true })
    if (!fs.existsSync(pnpm)) await fetchPnpm()
    say(`Installing the dependencies and Node ${nodeVersion} into node_modules (400 MB)`)
    await step(pnpm, ['install', '--frozen-lockfile'], root)
    await step(node, ['--version'], root)
    fs.writeFileSync(stamp, state)
    say(`Ready after ${Math.round((Date.now() - started) / 1000)} s. Later starts skip this.`)
  } finally {
    fs.rmSync(lock, { force: true })
  }
}

try {
  const [name = '', ...args] = process.argv.slice(2)
  if (parseInt(process.versions.node) < 20) throw new Error(`Node ${process.version} is too old. Install Node 20.`)
  const command = Object.hasOwn(manifest.scripts, name) && manifest.scripts[name]
  if (!command) throw new Error(`Usage: node scripts/boot.mjs ${Object.keys(manifest.scripts).join('|')} [arguments]`)
  await setUp()
  // A plain command replaces its shell, so that it receives signals itself.
  const line = `${/[;&|]/.test(command) ? '' : 'exec '}${command} "$@"`
  const PATH = [dirname(node), dirname(pnpm), env['PATH']].join(delimiter)
  process.exitCode = (await run('/bin/sh', ['-c', line, 'sh', ...args], { cwd: root, env: { ...env, PATH } })).code
} catch (error) {
  const { name, message, stack } = /** @type {Error} */ (error)
  // Failures of the setup and of the system are clear without a stack. Everything else is a fault in this file.
  process.stderr.write(`\n✗ ${name === 'Error' ? message : stack}\n`)
  process.exitCode ||= 1
}
