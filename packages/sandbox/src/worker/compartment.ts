import type { CompartmentLoadRequest, LifecyclePhase, LoadReply, WireError } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { Ask } from '../extension/ask.ts'
import { Resident } from '../extension/extension-runner.ts'
import type { PlainLimits } from '../wire/plain-json.ts'
import { CodedError, toWireError } from '../wire/remote-error.ts'
import type { ModuleMap } from './modules.ts'

export interface CompartmentOptions {
  readonly modules: ModuleMap
  readonly ask: Ask
  readonly output: PlainLimits
  readonly messageBytes: number
}

/** What the host may ask of this thread. Every method answers with JSON, because JSON is all that crosses. */
export class Compartment {
  readonly #options: CompartmentOptions
  #resident: Resident | undefined

  constructor(options: CompartmentOptions) {
    this.#options = options
  }

  async load(request: CompartmentLoadRequest): Promise<LoadReply> {
    const main = this.#options.modules.admit(request.id, request.main, request.files)
    let exported: { readonly default?: unknown }
    try {
      exported = await import(main) as { readonly default?: unknown }
    } catch (error) {
      if (isOurs(error)) throw error
      throw new CodedError(
        'CompartmentStartFailed',
        `${request.main} could not be imported: ${describeImport(toWireError(error))}`,
        { cause: error },
      )
    }
    this.#resident = new Resident({
      module: exported.default,
      config: request.config,
      tools: request.tools,
      ask: this.#options.ask,
      output: this.#options.output,
      messageBytes: this.#options.messageBytes,
    })
    return this.#resident.reply
  }

  async lifecycle(phase: LifecyclePhase): Promise<null> {
    await this.#loaded.lifecycle(phase)
    return null
  }

  execute(callId: string, tool: string, args: JsonObject): Promise<Json> {
    return this.#loaded.execute(callId, tool, args)
  }

  deriveApprovalKey(tool: string, args: JsonObject): Promise<Json> {
    return this.#loaded.deriveApprovalKey(tool, args)
  }

  migrateState(slotVersion: string, data: Json): Promise<Json> {
    return this.#loaded.migrateState(slotVersion, data)
  }

  async abort(callId: string, reason: string): Promise<null> {
    await this.#loaded.abort(callId, reason)
    return null
  }

  get #loaded(): Resident {
    if (this.#resident === undefined) {
      throw new CodedError('LifecyclePhaseInvalid', 'The compartment was asked to run code before any was loaded.')
    }
    return this.#resident
  }
}

/** What was thrown may be a proxy that throws when it is looked at. */
function isOurs(error: unknown): boolean {
  try {
    return error instanceof CodedError
  } catch {
    return false
  }
}

/** With where it happened, which V8 tells of all but faults of syntax: of these its own command does. */
function describeImport({ name, message, stack = '' }: WireError): string {
  const [, file, line] = /\n {4}at .*?tool:\/\/[^/\s]+\/([^\s:]+):(\d+):\d+/.exec(stack) ?? []
  if (file !== undefined) return `${message} (${file}, line ${line})`
  const isSyntax = name === 'SyntaxError' && !/\bexport\b.* named\b/.test(message)
  return isSyntax ? `${message}. "node --check" with the name of the file says in which line` : message
}
