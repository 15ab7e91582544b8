import { execFile } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { BulkheadError, NPM_NAME_PATTERN } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { makeFolder } from '@bulkhead/kit/folders'
import { findProgram, isWithin } from '@bulkhead/kit/programs'
import { visibleText } from '@bulkhead/kit/text'
import { UsageError } from '../command.ts'

/** A command line that downloads a package and runs a program of it. */
export interface Launcher {
  readonly kind: 'npx' | 'uvx'
  /** The package, with a version, range or tag if the command has one. */
  readonly spec: string
  /** The program. undefined: the one that the package is named after. */
  readonly program: string | undefined
  readonly args: readonly string[]
}

/** A package that was installed, and the command that starts it without a network. */
export interface Pinned {
  readonly command: readonly string[]
  /** Such as @acme/server@1.2.3. */
  readonly installed: string
  /** The digest of the package, or the file that has those of all packages. */
  readonly integrity: string
}

const YES: ReadonlySet<string> = new Set(['-y', '--yes', '-q', '--quiet'])
const SOURCES = { npx: ['-p', '--package'], uvx: ['--from'] } as const

/** undefined if the command starts its program itself. Throws UsageError for options that cannot be pinned. */
export function readLauncher([program = '', ...words]: readonly string[]): Launcher | undefined {
  const kind = basename(program)
  if (kind !== 'npx' && kind !== 'uvx') return undefined
  let source: string | undefined
  while (words[0]?.startsWith('-')) {
    const [option = '', value] = words.shift()!.split('=', 2)
    if ((SOURCES[kind] as readonly string[]).includes(option)) source = value ?? words.shift()
    else if (option === '--') break
    else if (!YES.has(option)) throw new UsageError(`The option ${option} of ${kind} cannot be pinned. Leave it out.`)
  }
  const [named, ...args] = words
  if (named === undefined) throw new UsageError(`Name the package after ${kind}.`)
  return source === undefined
    ? { kind, spec: named, program: undefined, args } : { kind, spec: source, program: named, args }
}

/** Installs the package into a new folder and runs no code of it. Rejects with InstallFailed and leaves nothing. */
export async function pin(launcher: Launcher, folder: string): Promise<Pinned> {
  if (existsSync(folder)) throw failed(`"${folder}" exists already. Remove it, or choose another name`)
  try {
    makeFolder(folder, 0o700)
    return await (launcher.kind === 'npx' ? pinNpm(launcher, folder) : pinPython(launcher, folder))
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw BulkheadError.is(error) || error instanceof UsageError ? error : failed(messageOf(error))
  }
}

const NPM_ARGS = [
  'install', '--ignore-scripts', '--save-exact', '--omit=dev', '--no-audit', '--no-fund', '--no-update-notifier',
]

async function pinNpm({ spec, program, args }: Launcher, folder: string): Promise<Pinned> {
  const name = /^(@?[^@]+)(?:@[^/:]*)?$/.exec(spec)?.[1] ?? ''
  if (!NPM_NAME_PATTERN.test(name)) {
    throw new UsageError(`"${spec}" is not a package of a registry, such as @acme/server@1.2.3.`)
  }
  const { BULKHEAD_REGISTRY: registry } = process.env
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  await run('npm', 'Node comes with it.', [
    ...NPM_ARGS, '--prefix', folder, ...(registry ? ['--registry', registry] : []), '--', spec,
  ], folder)
  const root = join(folder, 'node_modules', name)
  const { version } = readJson<{ readonly version: string }>(join(root, 'package.json'))
  const { packages } = readJson<PackageLock>(join(folder, 'package-lock.json'))
  const integrity = packages[`node_modules/${name}`]?.integrity
  if (integrity === undefined) throw failed(`npm recorded no digest of ${name}@${version}`)
  const file = programOf(root, name, program)
  const isScript = /\.[cm]?js$/.test(file) || /^#!.*\bnode\b/.test(readFileSync(file, 'latin1').slice(0, 256))
  return { command: [...(isScript ? ['node'] : []), file, ...args], installed: `${name}@${version}`, integrity }
}

interface PackageLock {
  readonly packages: Readonly<Record<string, { readonly integrity?: string } | undefined>>
}

/** The file of a program of a package. It must lie inside the package. */
function programOf(root: string, name: string, wanted: string | undefined): string {
  const { bin = {} } = readJson<{ readonly bin?: string | Record<string, string> }>(join(root, 'package.json'))
  const own = basename(name)
  const programs = new Map(Object.entries(typeof bin === 'string' ? { [own]: bin } : bin))
  const [only] = wanted === undefined && programs.size === 1 ? programs.values() : []
  const file = programs.get(wanted ?? own) ?? only
  const path = file === undefined ? undefined : resolve(root, file)
  const isInside = path !== undefined && existsSync(path) && isWithin(realpathSync(path), realpathSync(root))
  if (isInside) return path
  const names = [...programs.keys()].map((one) => visibleText(one)).join(', ')
  throw failed(`The package ${name} has no program "${wanted ?? own}"${names === '' ? '' : `; it has ${names}`}`)
}

const PYTHON_SPEC = /^([A-Za-z0-9][A-Za-z0-9._-]*)(\[[A-Za-z0-9,_-]+\])?(?:(?:==|@)([A-Za-z0-9.!+_-]+))?$/

/** Wheels only: building a package would run its code. */
async function pinPython({ spec, program, args }: Launcher, folder: string): Promise<Pinned> {
  const [, name = '', extras = '', version = 'latest'] = PYTHON_SPEC.exec(spec) ?? []
  if (name === '') throw new UsageError(`"${spec}" is not a package of a registry, such as acme-server==1.2.3.`)
  const environment = join(folder, 'venv')
  const wanted = join(folder, 'requirements.in')
  const locked = join(folder, 'requirements.txt')
  writeFileSync(wanted, `${name}${extras}${version === 'latest' ? '' : `==${version}`}\n`)
  const uv = (...words: string[]) => run('uv', 'Install it, see https://docs.astral.sh/uv/.', words, folder)
  await uv('venv', environment)
  const wheels = ['--only-binary', ':all:', '--python', environment]
  await uv('pip', 'compile', '--generate-hashes', ...wheels, '--output-file', locked, wanted)
  await uv('pip', 'sync', '--require-hashes', ...wheels, locked)
  const file = join(environment, 'bin', program ?? name)
  if (basename(file) !== (program ?? name) || !existsSync(file)) {
    throw failed(`The package ${name} has no program "${program ?? name}"`)
  }
  const isOwn = (line: string) => line.toLowerCase().startsWith(`${name.toLowerCase()}==`)
  const line = readFileSync(locked, 'utf8').split('\n').find(isOwn)
  const installed = line?.replace(/ .*$/s, '').replace('==', '@') ?? name
  // A script names its Python with an absolute path, which ends with a move of the home.
  const python = isPythonScript(file) ? [join(environment, 'bin', 'python')] : []
  return { command: [...python, file, ...args], installed, integrity: locked }
}

function isPythonScript(file: string): boolean {
  const start = readFileSync(file, 'latin1').slice(0, 512)
  return start.startsWith('#!') && start.includes('python')
}

const INSTALL_MS = 300_000
const MOST_CHARS = 2_000

async function run(name: string, cure: string, args: readonly string[], cwd: string): Promise<void> {
  const program = findProgram(name, cwd, process.env['PATH'] ?? '')
  if (program === undefined) throw failed(`"${name}" is not on your PATH. ${cure}`)
  await new Promise<void>((done, reject) => {
    execFile(program, args, { cwd, timeout: INSTALL_MS }, (error, _stdout, stderr) => {
      if (error === null) return done()
      const why = visibleText(stderr.trim() || error.message, { keepLines: true }).slice(-MOST_CHARS)
      reject(failed(`${name} could not install the package:\n${why}`))
    })
  })
}

const readJson = <Value>(file: string): Value => JSON.parse(readFileSync(file, 'utf8')) as Value

const failed = (why: string): BulkheadError => new BulkheadError('InstallFailed', `${why.replace(/\.$/, '')}.`)
