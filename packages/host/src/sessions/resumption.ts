import { BulkheadError, requireOptions } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import type { OpenedWith, SessionRecord } from '../records/session-records.ts'
import type { SessionOptions } from './session.ts'

/** Options that are data. A session is continued with those that it was opened with. */
const DATA = [
  'agent', 'roots', 'adHoc', 'mode', 'rules', 'role', 'roles', 'tools', 'codeMode', 'interactionTimeoutMs', 'pause',
  'headless', 'ceiling', 'strategy', 'continues', 'record',
] as const satisfies readonly (keyof SessionOptions)[]

/** Options that are code and can deny a call. A session that had one is not continued without it. */
const RESTRICTING = ['hooks', 'watchdog', 'stateMachine', 'guards'] as const satisfies readonly (keyof SessionOptions)[]

/**
 * The options of `openSession` that are code, to pass again, and the principal, which must be the same. Everything else
 * is as it was when the session was opened.
 */
export type ResumeOptions = Pick<
  SessionOptions,
  'principal' | 'interactor' | 'approver' | 'client' | 'signal' | 'workspace' | typeof RESTRICTING[number]
>

const RESUMED: OptionForms<ResumeOptions> = {
  principal: forms.anything, interactor: forms.anything, approver: forms.anything, client: forms.anything,
  signal: forms.anything, workspace: forms.anything, hooks: forms.anything, watchdog: forms.anything,
  stateMachine: forms.anything, guards: forms.anything,
}

/** What is stored of the options of a session. */
export function openedWith(options: SessionOptions, now: number): OpenedWith {
  const { principal, budget } = options
  const data = DATA.flatMap((name) => options[name] === undefined ? [] : [[name, options[name]] as const])
  // JSON has no Infinity, which is no limit.
  const limits = Object.entries(budget ?? {}).filter(([, limit]) => Number.isFinite(limit))
  return {
    ...(principal && { principal: principal.id }),
    openedAt: new Date(now).toISOString(),
    options: JSON.parse(JSON.stringify({
      ...Object.fromEntries(data), ...(budget && { budget: Object.fromEntries(limits) }),
    })) as JsonObject,
    code: RESTRICTING.filter((name) => [options[name] ?? []].flat().length > 0),
  }
}

/** The options of a session that is resumed. Throws ConfigInvalid. `openSession` checks each of them again. */
export function resumedOptions(record: Pick<SessionRecord, 'id' | 'options' | 'code'>, given: ResumeOptions): SessionOptions {
  requireOptions('resumeSession', given, RESUMED)
  const missing = record.code.filter((name) => !Object.hasOwn(given, name))
  if (missing.length > 0) {
    const message = `The session ${record.id} was opened with ${missing.join(' and ')}. Pass the same again, because `
      + 'code is not stored.'
    throw new BulkheadError('ConfigInvalid', message, { data: { path: `/${missing[0]}` } })
  }
  return { ...record.options as unknown as SessionOptions, ...given }
}
