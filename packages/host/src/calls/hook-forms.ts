import { requireOptions } from '@bulkhead/contract'
import { forms, type OptionForm, type OptionForms } from '@bulkhead/kit/options'
import type { Hooks } from '../model/hooks.ts'

const HOOKS: OptionForms<Hooks> = {
  beforeToolExecution: forms.method, afterToolExecution: forms.method, beforeToolExecutionUpdate: forms.method,
  afterToolExecutionUpdate: forms.method, onBeforeTool: forms.method, onAfterTool: forms.method, onToolError: forms.method,
  onPermissionDenied: forms.method, onTokenBudgetExceeded: forms.method, onToolsDisabled: forms.method,
}

/** Hooks may be an object that keeps something for itself: of its own values only those named like a hook are looked at. */
export const HOOKS_FORM: OptionForm = {
  words: 'an object of which each hook is a function',
  wrongIn: (hooks) => forms.object.wrongIn(hooks) ?? forms.fields(HOOKS).wrongIn({ ...hooks as Hooks }),
}

/** A hook under a name that is close to one would never be heard. Throws ConfigInvalid. */
export const refuseSlips = (hooks: Hooks): void => requireOptions('hooks', { ...hooks }, HOOKS)
