import { requireOptions } from '@bulkhead/contract'
import { forms, type OptionForm, type OptionForms } from '@bulkhead/kit/options'
import type { Hooks } from '../model/hooks.ts'

const NONE: readonly Hooks[] = Object.freeze([])

/** The hooks of a session, after those of the session it is a sub-agent of, each in the order they were added. */
export class HookChain {
  readonly #outer: HookChain | undefined
  /** The same hooks may be added twice, and each is removed separately. */
  readonly #entries = new Set<{ readonly hooks: Hooks }>()
  // Replaced, never changed: a call continues with the hooks it began with.
  #own = NONE

  constructor(outer: HookChain | undefined, own: readonly Hooks[]) {
    this.#outer = outer
    for (const hooks of own) this.add(hooks)
  }

  get all(): readonly Hooks[] {
    const outer = this.#outer?.all ?? NONE
    if (outer.length === 0) return this.#own
    return this.#own.length === 0 ? outer : [...outer, ...this.#own]
  }

  /** Used from the next call on. Returns the function that removes them; idempotent. */
  add(hooks: Hooks): () => void {
    const entry = { hooks }
    this.#entries.add(entry)
    this.#update()
    return () => {
      if (this.#entries.delete(entry)) this.#update()
    }
  }

  #update(): void {
    this.#own = [...this.#entries].map(({ hooks }) => hooks)
  }
}

const HOOKS: OptionForms<Hooks> = {
  beforeToolExecution: forms.method, afterToolExecution: forms.method, beforeToolExecutionUpdate: forms.method,
  afterToolExecutionUpdate: forms.method, onBeforeTool: forms.method, onAfterTool: forms.method, onToolError: forms.method,
  onPermissionDenied: forms.method, onTokenBudgetExceeded: forms.method, onToolsDisabled: forms.method,
}

/** Hooks may be an object with members of its own: only those named like a hook are checked. */
export const HOOKS_FORM: OptionForm = {
  words: 'an object of which each hook is a function',
  wrongIn: (hooks) => forms.object.wrongIn(hooks) ?? forms.fields(HOOKS).wrongIn({ ...hooks as Hooks }),
}

/** A misspelled hook would never be called. Throws ConfigInvalid. */
export const refuseSlips = (hooks: Hooks): void => requireOptions('hooks', { ...hooks }, HOOKS)
