import { Buffer } from 'node:buffer'
import type {
  AppliedUpdate, BrokerMethod, DirectoryEntry, Edited, FileChange, FileReader, FilesFound, FileStat, FileUndo,
  FileWatch, FileWriter, Interact, InteractionOption, InteractionRequest, InteractionResponse, LinesFound, Outcome,
  PipeOptions, PipeResult, RuntimePart, SessionMemory, Shell, ShellResult, ShellStage, UndoReport,
} from '@bulkhead/contract'
import type { Log } from '@bulkhead/contract/author'
import { formChoices, type FormField, type FormSchema, type FormValue, type FormValues } from '@bulkhead/kit/form'
import type { Json } from '@bulkhead/kit/json'
import { CodedError } from '../wire/errors.ts'
import { toPlainJson, type PlainLimits } from '../wire/plain-json.ts'

/** Calls a method of the broker: over the wire from a compartment, directly when the extension runs inline. */
export type CallBroker = (method: BrokerMethod, ...args: readonly unknown[]) => Promise<Json>

/** Refuses arguments that the host would treat as an attack: honest code makes mistakes too. */
export function withPlainArgs(callBroker: CallBroker, limits: PlainLimits): CallBroker {
  // Awaited, so that V8 knows the caller when it fails.
  return async (method, ...args) => await callBroker(method, ...args.map((arg) => {
    const plain = toPlainJson(arg, limits)
    if (!plain.ok) {
      throw new CodedError('InputInvalid', `${method} got an argument that cannot be sent. ${plain.message}`)
    }
    return plain.value
  }))
}

type Level = keyof Log

/** Further lines are dropped and counted while so many are on their way to the host. */
const MAX_LINES_IN_FLIGHT = 256
const LINE_CHARS = 8_192

/** Sends log lines to the host. */
export class LogSender {
  readonly #callBroker: CallBroker
  #inFlight = 0
  #dropped = 0

  constructor(callBroker: CallBroker) {
    this.#callBroker = callBroker
  }

  send(level: Level, text: string, callId: string | null): void {
    if (this.#inFlight >= MAX_LINES_IN_FLIGHT) {
      this.#dropped++
      return
    }
    const note = this.#dropped > 0 ? ` (${this.#dropped} lines before this one were dropped)` : ''
    this.#dropped = 0
    this.#inFlight++
    const arrived = (): void => void this.#inFlight--
    this.#callBroker('log', callId, level, text.slice(0, LINE_CHARS).toWellFormed() + note).then(arrived, arrived)
  }

  forCall(callId: string | null): Log {
    const line = (level: Level) => (text: string): void => this.send(level, String(text), callId)
    return Object.freeze({ debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') })
  }
}

/**
 * The end of a prototype chain instead of `Object.prototype`: reading a part that was not granted throws an error that
 * says what to declare. For `in` and for loops the part is absent, and granted parts cost nothing.
 */
function undeclared(whole: string, cures: Readonly<Record<string, string>>): object {
  const byName = new Map(Object.entries(cures))
  return new Proxy({}, {
    get(target, name, receiver) {
      const cure = typeof name === 'string' ? byName.get(name) : undefined
      if (cure === undefined) return Reflect.get(target, name, receiver) as unknown
      const part = `${whole}.${String(name)}`
      const why = `\`${part}\` is not available, because nothing was granted for it. ${cure}`
      throw new CodedError('CapabilityDenied', why, { data: { undeclared: part } })
    },
  })
}

const FS_READ = 'Declare `requires.fs.read` with patterns of paths for the tool.'
const FS_WRITE = 'Declare `requires.fs.write` with patterns of paths for the tool.'

export const UNDECLARED_RUNTIME = undeclared('runtime', {
  fs: 'Declare `requires.fs` with patterns of paths to read or to write for the tool.',
  net: 'Declare `requires.net` with its hosts for the tool.',
  shell: 'Declare `requires.shell` with its commands for the tool.',
  env: 'Name the variable in `env` of the manifest.',
  secrets: 'Name the secret in `secrets` of the manifest.',
  state: 'Declare a `stateSlot` in the manifest.',
  interact: 'Declare "interact" in `requires.capabilities` of the tool.',
  tools: 'Declare "tools.call" in `requires.capabilities` of the tool.',
  session: 'Declare "session" in `requires.capabilities` of the tool.',
})

const UNDECLARED_FILES = undeclared('runtime.fs', {
  read: FS_READ, readText: FS_READ, list: FS_READ, stat: FS_READ, glob: FS_READ, find: FS_READ, search: FS_READ,
  watch: FS_READ, write: FS_WRITE, remove: FS_WRITE,
  edit: 'Declare `requires.fs.read` and `requires.fs.write` with patterns of paths for the tool.',
})

/** Files. Bytes cross as base64, strings as they are. */
export function fileAccess(powers: ReadonlySet<RuntimePart>, callBroker: CallBroker): Partial<FileReader & FileWriter> {
  return Object.freeze({
    __proto__: UNDECLARED_FILES,
    ...(powers.has('fs.read') && reader(callBroker)),
    ...(powers.has('fs.write') && writer(callBroker)),
  })
}

/** A list with the number of what is not in it. */
function foundIn<Item>(answer: unknown): readonly Item[] & { readonly leftOut?: number } {
  const { found, leftOut } = answer as { readonly found: readonly Item[]; readonly leftOut: number }
  return leftOut === 0 ? found : Object.defineProperty(found, 'leftOut', { value: leftOut })
}

function reader(callBroker: CallBroker): FileReader {
  return {
    async read(path, range) {
      return new Uint8Array(Buffer.from(await callBroker('fs.read', path, 'bytes', range ?? null) as string, 'base64'))
    },
    readText: (path, range) => callBroker('fs.read', path, 'text', range ?? null) as Promise<string>,
    list: async (path) => foundIn<DirectoryEntry>(await callBroker('fs.list', path, 'counted')),
    stat: (path) => callBroker('fs.stat', path) as Promise<unknown> as Promise<FileStat>,
    glob: async (pattern, options) => foundIn<string>(await callBroker('fs.glob', pattern, options ?? null, 'counted')),
    find: (pattern, options) =>
      callBroker('fs.find', pattern, options ?? null) as Promise<unknown> as Promise<FilesFound>,
    search: (pattern, options) =>
      callBroker('fs.search', pattern, options ?? null) as Promise<unknown> as Promise<LinesFound>,
    watch: (path) => watching(callBroker('fs.watch', path) as Promise<string>, callBroker),
  }
}

/** It starts with the call. A reader that stops early ends it. */
function watching(id: Promise<string>, callBroker: CallBroker): FileWatch {
  const started = id.then(() => undefined)
  // A reader gets the error; without one there is nothing to report.
  started.catch(() => undefined)
  const changes = readChanges(id, callBroker)
  return Object.freeze({ started, [Symbol.asyncIterator]: () => changes })
}

async function* readChanges(id: Promise<string>, callBroker: CallBroker): AsyncGenerator<FileChange, void, undefined> {
  const watch = await id
  try {
    for (;;) yield* await callBroker('fs.watch.next', watch) as unknown as readonly FileChange[]
  } finally {
    await callBroker('fs.watch.next', watch, 'drop').catch(() => undefined)
  }
}

function writer(callBroker: CallBroker): FileWriter & FileUndo {
  return {
    write: async (path, content) =>
      await callBroker('fs.write', path, ...encoded(content)) as { bytes: number; created: boolean },
    edit: (path, oldText, newText, options) =>
      callBroker('fs.edit', path, oldText, newText, options?.all === true) as Promise<unknown> as Promise<Edited>,
    apply: (updates) => callBroker('fs.apply', updates.map(({ path, before, after, executable, like }) => ({
      path, before: before === null ? null : encoded(before), after: after === null ? null : encoded(after),
      ...(executable !== undefined && { executable }), ...(like !== undefined && { like }),
    }))) as Promise<unknown> as Promise<readonly AppliedUpdate[]>,
    remove: async (path, options) => void await callBroker('fs.remove', path, options?.recursive === true),
    undo: (request) => callBroker('fs.undo', request) as Promise<unknown> as Promise<UndoReport>,
  }
}

const encoded = (content: string | Uint8Array): readonly [kind: 'text' | 'bytes', content: string] =>
  typeof content === 'string' ? ['text', content] : ['bytes', Buffer.from(content).toString('base64')]

export const envAccess = (callBroker: CallBroker): object =>
  Object.freeze({ get: (name: string) => callBroker('env.get', name) as Promise<string> })

export const secretAccess = (callBroker: CallBroker): object =>
  Object.freeze({ handle: (name: string) => callBroker('secrets.handle', name) as Promise<string> })

export const stateAccess = (callBroker: CallBroker): object => Object.freeze({
  read: () => callBroker('state.read'),
  write: async (data: Json) => void await callBroker('state.write', data),
})

/**
 * Runs a step, unless its result is kept. The result is the kept one, so that it is the same whenever the call runs.
 */
export const stepAccess = (callBroker: CallBroker) =>
  async (name: string, work: () => unknown): Promise<Json> => {
    const kept = await callBroker('step.begin', name) as { readonly result: Json } | null
    if (kept !== null) return kept.result
    let result: unknown
    try {
      result = await work()
    } catch (error) {
      await callBroker('step.end', name).catch(() => undefined)
      throw error
    }
    return (await callBroker('step.end', name, { result: result ?? null }) as { readonly result: Json }).result
  }

export const toolAccess = (callBroker: CallBroker): object => Object.freeze({
  call: (name: string, args: Json) => callBroker('tools.call', name, args) as unknown as Promise<Outcome>,
})

export const sessionAccess = (callBroker: CallBroker): SessionMemory => {
  const read = () =>
    callBroker('session.read') as Promise<unknown> as Promise<{ readonly id: string; readonly data: Json }>
  return Object.freeze({
    id: async () => (await read()).id,
    read: async () => (await read()).data,
    write: async (data: Json) => void await callBroker('session.write', data),
  })
}

/** Commands: a name and an argument vector. */
export function shellAccess(callBroker: CallBroker): Shell {
  return Object.freeze({
    run: (cmd, args, options) => {
      const result = callBroker('shell.run', cmd, args ?? [], { cwd: options?.cwd, input: options?.input })
      return result as Promise<unknown> as Promise<ShellResult>
    },
    pipe: (stages, options) => {
      const result = callBroker('shell.pipe', stages.map(stageRequest), optionsRequest(options))
      return result as Promise<unknown> as Promise<PipeResult>
    },
  } satisfies Shell)
}

const stageRequest = ({ cmd, args = [], input, stdout, stderr, as }: ShellStage): object =>
  ({ cmd, args, input, stdout, stderr, as })
const optionsRequest = ({ cwd, timeoutMs, wall, hosts, isolated, quiet, save }: PipeOptions = {}): object =>
  ({ cwd, timeoutMs, wall, hosts, isolated, quiet, save })

/** Questions to a person. Each method sends one request and checks the kind of the response. */
export function interaction(callBroker: CallBroker): Interact {
  const answer = async (request: InteractionRequest): Promise<Json> => {
    const response = await callBroker('interact', request) as unknown as InteractionResponse
    switch (response.status) {
      case 'accepted':
        return response.value
      case 'rejected':
        throw new CodedError('ApprovalDenied', response.reason ?? 'The person declined to answer.')
      case 'timeout':
        throw new CodedError('InteractionTimeout', 'The question was not answered in time. Ask again.')
    }
  }
  const text = async (request: InteractionRequest): Promise<string> => String(await answer(request))
  const select = (prompt: string, options: readonly InteractionOption[], multiple: boolean): Promise<Json> =>
    answer({ kind: 'Select', prompt, options, multiple })
  const methods: Interact = Object.freeze({
    ask: (prompt) => text({ kind: 'Ask', prompt }),
    confirm: async (prompt) => await answer({ kind: 'Confirm', prompt }) === true,
    select: async (prompt, options) => String(await select(prompt, options, false)),
    selectMany: async (prompt, options) => {
      const chosen = await select(prompt, options, true)
      return Array.isArray(chosen) ? chosen.map(String) : [String(chosen)]
    },
    form: async (prompt, schema, { name } = {}) => {
      try {
        const values = await answer({ kind: 'Form', prompt, schema, ...(name === undefined ? {} : { name }) })
        return values as FormValues
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'CapabilityUnavailable') throw error
        return askFields(methods, prompt, schema)
      }
    },
    deviceCode: async (request) => void await answer({ kind: 'Auth.DeviceCode', ...request }),
    password: (prompt) => text({ kind: 'Auth.Password', prompt }),
  } satisfies Interact)
  return methods
}

/** A form for people who cannot be shown one. */
async function askFields(
  interact: Interact, prompt: string, { properties, required = [] }: FormSchema,
): Promise<FormValues> {
  const values: [string, FormValue][] = []
  for (const [name, field] of Object.entries(properties)) {
    const value = await askField(interact, `${prompt}\n${field.title ?? name}${noteOf(field)}`, field)
    if (value !== '') values.push([name, value])
    else if (field.default !== undefined) values.push([name, field.default])
    else if (required.includes(name)) throw new CodedError('InputInvalid', `The field "${name}" was left empty.`)
  }
  return Object.fromEntries(values)
}

const noteOf = ({ description, default: preset }: FormField): string =>
  `${description === undefined ? '' : ` (${description})`}${preset === undefined ? '' : ` [${JSON.stringify(preset)}]`}`

async function askField(interact: Interact, prompt: string, field: FormField): Promise<FormValue> {
  const options = formChoices(field)?.map(({ const: label, title: description }): InteractionOption =>
    description === label ? { label } : { label, description })
  if (options) return field.type === 'array' ? interact.selectMany(prompt, options) : interact.select(prompt, options)
  if (field.type === 'boolean') return interact.confirm(prompt)
  const answer = await interact.ask(prompt)
  if (field.type === 'string' || answer === '') return answer
  const number = Number(answer)
  if (Number.isFinite(number) && (field.type === 'number' || Number.isInteger(number))) return number
  throw new CodedError('InputInvalid', `"${answer}" is not a number that the form accepts.`)
}
