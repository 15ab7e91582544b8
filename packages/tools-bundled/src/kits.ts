import { open, readdir } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Content } from '@bulkhead/contract'
import { errorCode, messageOf } from '@bulkhead/kit/error-message'
import { isJsonObject, type Json } from '@bulkhead/kit/json'

/** A prompt in a file: guidance for one kind of work. */
export interface Kit {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly arguments: readonly KitArgument[]
  /** `{{name}}` stands for the value of an argument. */
  readonly text: string
}

export interface KitArgument {
  readonly name: string
  readonly description?: string
  readonly required?: boolean
  /** The value if the argument is missing. Default: an empty string. */
  readonly default?: string
  /** Values to suggest. Others are possible. */
  readonly values?: readonly string[]
}

const MAX_KITS = 200
const MAX_BYTES = 64 * 1024
const MAX_ARGUMENTS = 32
const NAME = /^[a-z][a-z0-9_-]{0,63}$/
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g

/** Returns the kit in a YAML text, or a description of the fault. */
export async function parseKit(name: string, text: string): Promise<Kit | string> {
  if (!NAME.test(name)) return 'the name of its file must begin with a-z and have a-z, digits, "-" and "_" only'
  // Loaded on first use, to keep the host's startup fast.
  const { parse } = await import('yaml')
  let read: unknown
  try {
    read = parse(text, { maxAliasCount: 0, schema: 'core' })
  } catch (error) {
    return `it is not valid YAML: ${messageOf(error).split('\n', 1)[0]}`
  }
  if (!isJsonObject(read)) return 'it is not a YAML mapping'
  const { title, description, arguments: list = [], text: body, ...rest } = read
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) return `it has the unknown key "${unknown}"`
  if (!isText(description) || !isText(body)) return '"description" and "text" must be strings that are not empty'
  if (title !== undefined && !isText(title)) return '"title" must be a string that is not empty'
  if (!Array.isArray(list) || list.length > MAX_ARGUMENTS) return `"arguments" must be a list of at most ${MAX_ARGUMENTS}`
  const faulty = (list as readonly Json[]).find((one) => !isArgument(one))
  if (faulty !== undefined) return `an argument is not valid: ${JSON.stringify(faulty).slice(0, 200)}`
  const args = list as unknown as readonly KitArgument[]
  const names = new Set(args.map((one) => one.name))
  if (names.size < args.length) return 'two arguments have the same name'
  const stray = [...body.matchAll(PLACEHOLDER)].find(([, used]) => !names.has(used!))
  if (stray) return `its text uses ${stray[0]}, which is not an argument`
  return { name, ...(title !== undefined && { title }), description, arguments: args, text: body }
}

const isText = (value: Json | undefined): value is string => typeof value === 'string' && value.trim() !== ''

const KEYS: ReadonlySet<string> = new Set(['name', 'description', 'required', 'default', 'values'])

function isArgument(value: Json): boolean {
  if (!isJsonObject(value) || !Object.keys(value).every((key) => KEYS.has(key))) return false
  const { name, description = '', required = false, default: preset = '', values = [] } = value
  return typeof name === 'string' && NAME.test(name) && typeof description === 'string' && typeof required === 'boolean'
    && typeof preset === 'string' && Array.isArray(values) && values.every((one) => typeof one === 'string')
}

/** Values are inserted once: a value that looks like a placeholder stays as it is. */
export function fillKit({ arguments: args, text }: Kit, values: ReadonlyMap<string, string>): string {
  const presets = new Map(args.map((one) => [one.name, one.default ?? '']))
  return text.replaceAll(PLACEHOLDER, (_, name: string) => values.get(name) ?? presets.get(name) ?? '')
}

/** Kits as prompts for MCP clients. */
export interface KitPrompts {
  list(reader: FaultReader): Promise<readonly Omit<Kit, 'text'>[]>
  get(name: string, args: ReadonlyMap<string, string>, reader: FaultReader): Promise<{
    readonly description: string
    readonly messages: readonly { readonly role: 'user'; readonly content: Content }[]
  }>
  complete(name: string, argument: string, reader: FaultReader): Promise<readonly string[]>
}

export interface FaultReader {
  /** Called for a kit that is left out. */
  report(fault: string): void
}

const OWN_FOLDER = fileURLToPath(new URL('../kits/', import.meta.url))
let own: Promise<readonly Kit[]> | undefined

/** The kits that ship with the host, and those in a folder of the user, which replace them by name. */
export function createKitPrompts(userFolder: string): KitPrompts {
  const reported = new Set<string>()
  const kits = async ({ report }: FaultReader): Promise<ReadonlyMap<string, Kit>> => {
    own ??= readKits(OWN_FOLDER, (fault) => { throw new Error(fault) })
    const theirs = await readKits(userFolder, (fault) => {
      if (reported.has(fault) || reported.size >= MAX_KITS) return
      reported.add(fault)
      report(fault)
    })
    return new Map([...await own, ...theirs].map((kit) => [kit.name, kit]))
  }
  const find = async (name: string, reader: FaultReader): Promise<Kit> => {
    const kit = (await kits(reader)).get(name)
    if (kit) return kit
    throw new Error(`There is no kit "${name}".`)
  }
  return {
    async list(reader) {
      return [...(await kits(reader)).values()].map(({ text: _text, arguments: args, ...kit }) => ({
        ...kit, arguments: args.map(({ default: _preset, values: _values, ...argument }) => argument),
      }))
    },
    async get(name, args, reader) {
      const kit = await find(name, reader)
      return {
        description: kit.description,
        messages: [{ role: 'user', content: { type: 'text', text: fillKit(kit, args) } }],
      }
    },
    async complete(name, argument, reader) {
      return (await find(name, reader)).arguments.find((one) => one.name === argument)?.values ?? []
    },
  }
}

/** A folder that is missing has no kits. */
async function readKits(folder: string, report: (fault: string) => void): Promise<readonly Kit[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') report(`The kits in ${folder} cannot be read: ${messageOf(error)}.`)
    return []
  })
  const files = names.filter((name) => /\.ya?ml$/.test(name)).toSorted()
  if (files.length > MAX_KITS) report(`${folder} has more than ${MAX_KITS} kits. The others are left out.`)
  const kits = await Promise.all(files.slice(0, MAX_KITS).map(async (file) => {
    const path = join(folder, file)
    const text = await readShort(path).catch((error: unknown) => new Error(messageOf(error)))
    const kit = typeof text === 'string' ? await parseKit(basename(file, extname(file)), text) : text.message
    if (typeof kit !== 'string') return [kit]
    report(`The kit ${path} is left out: ${kit}.`)
    return []
  }))
  return kits.flat()
}

async function readShort(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}
