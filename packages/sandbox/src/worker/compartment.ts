import type { LifecyclePhase } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { CallBroker } from '../extension/capabilities.ts'
import { ExtensionRunner } from '../extension/extension-runner.ts'
import { CodedError, toWireError } from '../wire/errors.ts'
import type { PlainLimits } from '../wire/plain-json.ts'
import type { LoadReply, LoadRequest, Reverts, Variables, WireError } from '../wire/protocol.ts'
import type { ModuleMap } from './modules.ts'
import { installShims } from './shims.ts'

/** Captured before extension code runs, which could replace it. */
const afterwards = setImmediate

export interface CompartmentOptions {
  readonly modules: ModuleMap
  readonly callBroker: CallBroker
  readonly output: PlainLimits
  readonly messageBytes: number
}

/** The methods that the host can call in this thread. Each returns JSON. */
export class Compartment {
  readonly #options: CompartmentOptions
  #runner: ExtensionRunner | undefined

  constructor(options: CompartmentOptions) {
    this.#options = options
  }

  async load(request: LoadRequest): Promise<LoadReply> {
    const { modules, callBroker } = this.#options
    const main = modules.admit(request.id, request.main, request.files)
    const { enter, moduleSource } = installShims(request)
    modules.offer(moduleSource)
    let exported: { readonly default?: unknown }
    try {
      exported = await import(main) as { readonly default?: unknown }
      // An error in a promise without a handler is an error of the import then.
      if (request.describes) await new Promise((done) => void afterwards(done))
    } catch (error) {
      if (isOurs(error)) throw error
      throw new CodedError('CompartmentStartFailed', describeImport(toWireError(error)), { cause: error })
    }
    this.#runner = new ExtensionRunner({
      module: exported.default,
      config: request.config,
      tools: request.tools,
      callBroker,
      output: this.#options.output,
      messageBytes: this.#options.messageBytes,
      enter,
    })
    return this.#runner.reply
  }

  async lifecycle(phase: LifecyclePhase): Promise<null> {
    await this.#loaded.lifecycle(phase)
    return null
  }

  execute(
    callId: string, tool: string, args: JsonObject, env?: Variables | null, reverts?: Reverts | null,
    key?: string,
  ): Promise<Json> {
    return this.#loaded.execute(callId, tool, args, env, reverts, key)
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

  get #loaded(): ExtensionRunner {
    if (this.#runner === undefined) {
      throw new CodedError('LifecyclePhaseInvalid', 'The compartment was called before its code was loaded.')
    }
    return this.#runner
  }
}

/** A thrown value can be a proxy that throws when it is read. */
function isOurs(error: unknown): boolean {
  try {
    return error instanceof CodedError
  } catch {
    return false
  }
}

/** The host adds the file and the line, which V8 gives for all errors but syntax errors. */
function describeImport({ name, message }: WireError): string {
  const isSyntax = name === 'SyntaxError' && !/\bexport\b.* named\b/.test(message)
  return isSyntax ? `${message}. Run "node --check" on the file to see the line` : message
}
