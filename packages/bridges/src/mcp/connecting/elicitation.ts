import { AsyncLocalStorage } from 'node:async_hooks'
import type { Interact } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { fieldsOf, type FieldValue } from './elicitation-form.ts'

/** A question of a server, and the answer. */
export interface ElicitationRequest {
  readonly mode?: string | undefined
  readonly message: string
  readonly requestedSchema?: unknown
}
export interface ElicitationResult {
  [key: string]: unknown
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, FieldValue>
}

const DECLINED: ElicitationResult = { action: 'decline' }

/**
 * Routes the questions of a server to the person of the call. A question outside any call belongs to the only running call. With
 * several or none it is ambiguous and is declined.
 */
export class Elicitation {
  readonly #current = new AsyncLocalStorage<Interact>()
  readonly #running = new Set<{ readonly interact: Interact | undefined }>()

  async during<Value>(interact: Interact | undefined, work: () => Promise<Value>): Promise<Value> {
    const call = { interact }
    this.#running.add(call)
    try {
      return await (interact ? this.#current.run(interact, work) : work())
    } finally {
      this.#running.delete(call)
    }
  }

  /** Contract: never rejects. A person who cannot be asked has declined. */
  async answer(server: string, request: ElicitationRequest): Promise<ElicitationResult> {
    const [only, ...others] = this.#running
    const interact = this.#current.getStore() ?? (others.length === 0 ? only?.interact : undefined)
    const { mode = 'form', requestedSchema } = request
    const fields = mode === 'form' ? fieldsOf(requestedSchema) : undefined
    if (interact === undefined || fields === undefined) return DECLINED
    const heading = `The MCP server "${server}" asks: ${visibleText(request.message).slice(0, 2_000)}`
    try {
      if (fields.length === 0) return await interact.confirm(heading) ? { action: 'accept', content: {} } : DECLINED
      const content = new Map<string, FieldValue>()
      for (const { name, label, ask } of fields) {
        const value = await ask(interact, `${heading}\n${label}`)
        if (value !== undefined) content.set(name, value)
      }
      return { action: 'accept', content: Object.fromEntries(content) }
    } catch {
      return DECLINED
    }
  }
}
