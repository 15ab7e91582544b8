import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { TOOL_NAME_PATTERN } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isAbsent } from '@bulkhead/kit/folders'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { meantNames, visibleText } from '@bulkhead/kit/text'

export interface FaultReader {
  /** Called for a file that is left out. `location` is its path. */
  report(fault: string, location: string): void
}

/** Returns the content of a file, or a description of the fault. */
export type FileParser<Content> = (name: string, text: string) => Promise<Content | string>

export const MAX_FILES = 200
const MAX_BYTES = 64 * 1024

/** Reads every YAML file of a folder, ordered by name. A folder that is missing has none. */
export async function readYamlFiles<Content extends object>(
  folder: string, what: string, parse: FileParser<Content>, { report }: FaultReader,
): Promise<readonly Content[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (!isAbsent(folder)) report(`The folder ${folder} cannot be read: ${messageOf(error)}.`, folder)
    return []
  })
  const files = names.filter((name) => /\.ya?ml$/.test(name)).toSorted()
  if (files.length > MAX_FILES) report(`${folder} has more than ${MAX_FILES} files. The others are left out.`, folder)
  const read = await Promise.all(files.slice(0, MAX_FILES).map((file) =>
    readYamlFile(join(folder, file), basename(file, extname(file)), what, parse, { report })))
  return read.flat()
}

/** The content of a file, or nothing. */
export async function readYamlFile<Content extends object>(
  path: string, name: string, what: string, parse: FileParser<Content>, { report }: FaultReader,
): Promise<readonly Content[]> {
  const text = await readShort(path).catch((error: unknown) => new Error(
    errorCode(error) === undefined ? messageOf(error) : `it cannot be read (${errorCode(error)})`,
  ))
  const content = typeof text === 'string' ? await parse(name, text) : text.message
  if (typeof content !== 'string') return [content]
  report(`The ${what} ${path} is left out: ${content}${/[.?]$/.test(content) ? '' : '.'}`, path)
  return []
}

async function readShort(path: string): Promise<string> {
  // A pipe would block.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error('it is not a file')
    if (stat.size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** Parses a mapping with these keys at most. Returns a description of the fault if it is not one. */
export async function parseMapping(text: string, keys: readonly string[]): Promise<JsonObject | string> {
  // Loaded on first use, to keep the host's startup fast.
  const { load } = await import('js-yaml')
  let read: unknown
  try {
    // Aliases could make a short file expand to a very long text.
    read = load(text, { maxAliases: 0 })
  } catch (error) {
    const [why = ''] = messageOf(error).split('\n', 1)
    return why.includes('maxAliases') ? 'aliases such as *name are not allowed' : `it is not valid YAML: ${why}`
  }
  if (!isJsonObject(read)) return 'it is not a YAML mapping'
  return unknownKeyIn(read, keys) ?? read
}

export function unknownKeyIn(read: JsonObject, keys: readonly string[]): string | undefined {
  const unknown = Object.keys(read).find((key) => !keys.includes(key))
  if (unknown === undefined) return undefined
  return `it has the unknown key "${visibleText(unknown)}".${meantNames(unknown, keys)}`
}

export const isText = (value: Json | undefined): value is string => typeof value === 'string' && value.trim() !== ''

/**
 * The tools that a text is of use with. Every entry must be met. An entry is the name of a tool, or several names with
 * `|` between them, one of which is enough.
 */
export type Needs = readonly string[]

export const isNeeds = (value: Json): value is Needs => Array.isArray(value) && value.length <= MAX_NEEDS
  && value.every((entry) => typeof entry === 'string' && entry.split('|').every((name) => TOOL_NAME_PATTERN.test(name)))
const MAX_NEEDS = 32
export const NEEDS_FAULT = '"needs" must be a list of names of tools, such as [read, "edit|apply_patch"]'

export const areMet = (needs: Needs, tools: ReadonlySet<string>): boolean =>
  needs.every((entry) => entry.split('|').some((name) => tools.has(name)))
