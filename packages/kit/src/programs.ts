import {
  accessSync, closeSync, constants, existsSync, openSync, readlinkSync, readSync, realpathSync, statSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'

/** Folders that only the system or a package manager of the machine writes. Every program may read them. */
export const SYSTEM_FOLDERS: readonly string[] = [
  '/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/run/current-system/sw',
  '/home/linuxbrew/.linuxbrew',
]

/** What every command may read, whatever wall stands around it. */
export const READ_BY_COMMANDS: readonly string[] = [...SYSTEM_FOLDERS, '/etc', '/opt']

/** Where programs of the system are. Only the system writes there. */
export const PROGRAM_FOLDERS: readonly string[] = [
  '/usr/bin', '/bin', '/usr/sbin', '/sbin', '/run/current-system/sw/bin',
]

export const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

export const isOfSystem = (path: string): boolean => SYSTEM_FOLDERS.some((folder) => isWithin(path, folder))

/** The absolute path of a program, found as a shell would. undefined if there is none. */
export function findProgram(name: string, cwd: string, path: string): string | undefined {
  const candidates = name.includes('/')
    ? [resolve(cwd, name)]
    : path.split(':').filter((folder) => isAbsolute(folder)).map((folder) => join(folder, name))
  return candidates.find(isExecutable)
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/**
 * The files and folders outside the system that a program consists of: packages and environments of Node and Python,
 * its libraries, and the interpreter that a script names. Never a folder that could hold anything but code.
 */
function codeOf(program: string, cwd: string, path: string, depth = 0): readonly string[] {
  const real = realOf(program)
  if (real === undefined || depth > MOST_STEPS) return []
  const interpreter = interpreterOf(real, cwd, path)
  const places = [program, real].flatMap((one) => packageOf(one) ?? environmentOf(one, depth) ?? filesOf(one))
  const more = interpreter === undefined ? [] : codeOf(interpreter, cwd, path, depth + 1)
  return [...new Set([...places, ...more])].filter((one) => !isOfSystem(one))
}

/** A script, its environment, the interpreter of that, and one more. */
const MOST_STEPS = 3

/** The outermost `node_modules` around a file: packages load each other from there. */
function packageOf(path: string): readonly string[] | undefined {
  const [, folder] = /^(.*?\/node_modules)\//.exec(path) ?? []
  return folder === undefined ? undefined : [folder]
}

/** A virtual environment of Python, with the interpreter that it links to, maybe through other links. */
function environmentOf(path: string, depth: number): readonly string[] | undefined {
  const prefix = dirname(dirname(path))
  if (basename(dirname(path)) !== 'bin' || !existsSync(join(prefix, 'pyvenv.cfg'))) return undefined
  return [prefix, ...(depth > MOST_STEPS ? [] : linkedFrom(join(prefix, 'bin/python')).flatMap(filesOf))]
}

/** Each file that a link leads to, link after link, and the real one. */
export function linkedFrom(path: string): readonly string[] {
  const real = realOf(path)
  if (real === undefined) return []
  const found: string[] = []
  for (let at = linkAt(path); at !== undefined && found.length < MOST_LINKS; at = linkAt(at)) found.push(at)
  return [...found, real]
}

/** As many as the system follows. */
const MOST_LINKS = 40

/** undefined if it is no link. */
function linkAt(path: string): string | undefined {
  try {
    return resolve(dirname(path), readlinkSync(path))
  } catch {
    return undefined
  }
}

/** The file, and the libraries of the installation that it belongs to. */
function filesOf(path: string): readonly string[] {
  const libraries = join(dirname(dirname(path)), 'lib')
  return basename(dirname(path)) === 'bin' && existsSync(libraries) ? [path, libraries] : [path]
}

/** The program that a script names in its first line, such as `#!/usr/bin/env node`. */
function interpreterOf(file: string, cwd: string, path: string): string | undefined {
  const [, program, argument] = /^#! *(\S+)(?: +(?:-S +)?(\S+))?/.exec(firstBytes(file)) ?? []
  if (program === undefined) return undefined
  return basename(program) === 'env' && argument !== undefined ? findProgram(argument, cwd, path) : program
}

const FIRST_BYTES = 256

function firstBytes(file: string): string {
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const bytes = Buffer.alloc(FIRST_BYTES)
    return bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, FIRST_BYTES, 0))
  } catch {
    return ''
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** undefined if it does not exist. */
export function realOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** The code of a command line: its program, and packages with files that its arguments name. */
export const codeOfCommand = (
  program: string, args: readonly string[], cwd: string, path: string,
): readonly string[] => [...new Set([
  ...codeOf(program, cwd, path),
  ...args.map((argument) => resolve(cwd, argument)).filter((file) => existsSync(file))
    .flatMap((file) => [file, realpathSync(file)].flatMap((one) => packageOf(one) ?? [])),
])]

/** Whether one of the folders contains the path, as written or with links followed. */
export function includesPath(folders: readonly string[], path: string): boolean {
  const real = realOf(path) ?? path
  return folders.some((folder) => isWithin(path, folder) || isWithin(real, realOf(folder) ?? folder))
}
