import { BulkheadError, type CompartmentEnd } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { firstOf } from '../requirement.ts'
import { withSandbox, type OpenedExample, type SandboxTarget } from './sandbox-bench.ts'
import { groupOf, observed, settle, unlessDone, unlessRejected, type Bench, type Settled } from './verify.ts'

// How calls and compartments end: cancelled, killed, crashed and closed.

const SOURCE = `
export default { tools: {
  echo: { execute(args, runtime) { runtime.log.info('echo'); return args } },
  wait: { execute: (args, runtime) => new Promise((resolve) => {
    runtime.signal.addEventListener('abort', () => { runtime.log.info('aborted'); resolve() })
    runtime.progress('waiting')
  }) },
  stay: { execute: (args, runtime) => { runtime.progress('waiting'); return new Promise(() => {}) } },
  spin: { execute(args, runtime) {
    runtime.progress('waiting')
    return new Promise(() => setTimeout(() => { for (;;); }))
  } },
  crash: { execute: () => new Promise(() => setTimeout(() => { throw new Error('broken on purpose') })) },
  hoard: { execute() { for (const all = []; ;) all.push(new Array(100_000).fill(all.length)) } },
} }
`
const EXAMPLE = { source: SOURCE, tools: { echo: {}, wait: {}, stay: {}, spin: {}, crash: {}, hoard: {} } }

interface BegunCall {
  readonly end: Promise<Settled<Json>>
}

/** Calls a tool and resolves once the tool has begun. */
async function begin({ call }: OpenedExample, tool: string, signal?: AbortSignal): Promise<BegunCall> {
  const begun = Promise.withResolvers<void>()
  const end = call(tool, {}, { ...(signal && { signal }), onProgress: () => begun.resolve() })
  await Promise.race([begun.promise, end])
  return { end }
}

const stop = new BulkheadError('TurnCancelled', 'Stopped by the verification.')

async function observeAbort(target: SandboxTarget, bench: Bench) {
  return withSandbox(target, bench, async ({ open }) => {
    // Long, so that a tool on a busy machine is not killed while it stops.
    const opened = await open({ ...EXAMPLE, limits: { graceMs: 30_000 } })
    const { session, log, call } = opened
    const early = await call('echo', {}, { signal: AbortSignal.abort(stop) })
    const earlyRan = log.some(({ text }) => text === 'echo')
    const first = new AbortController()
    const waiting = await begin(opened, 'wait', first.signal)
    first.abort(stop)
    const cancelled = await waiting.end
    await settle(async () => session.quiet, bench)
    const noticed = log.some(({ text }) => text === 'aborted')
    const next = await call('echo')
    const other = await open({ ...EXAMPLE, limits: { graceMs: 100 } })
    const bystander = await begin(other, 'stay')
    const second = new AbortController()
    const spinning = await begin(other, 'spin', second.signal)
    second.abort(stop)
    return {
      cancelled, noticed, next, early, earlyRan, spinning: await spinning.end, bystander: await bystander.end,
      killed: await settle(() => other.session.ended, bench),
    }
  })
}

const hostError = ({ times, error, isUntyped }: Settled<unknown>): string | undefined => {
  if (times === 0) return 'it never settled'
  return error?.class === 'ExtensionHost' && !isUntyped ? undefined : `it ended with ${error?.code ?? 'a result'}`
}
const unlessEnded = ({ times, value }: Settled<CompartmentEnd>, kind: CompartmentEnd['kind']): string | undefined =>
  times === 0 ? '`ended` never settled' : value?.kind === kind ? undefined : `\`ended\` is ${value?.kind}`

const ABORT_SPEC = 'docs/guides/sessions.md'
export const ABORT = groupOf(observed(observeAbort), [
  {
    id: 'sandbox-abort', level: 'must', spec: ABORT_SPEC,
    statement: 'Aborting settles a call at once with the reason of the signal, also if the tool does not react.',
    why: 'A person who cancels does not wait for a tool.',
    cure: 'Reject the call in the host, and notify the compartment afterwards.',
    check: ({ cancelled, spinning }) => firstOf([cancelled, spinning], (one) => unlessRejected(one, 'TurnCancelled')),
  },
  {
    id: 'sandbox-abort-notified', level: 'must', spec: ABORT_SPEC,
    statement: 'runtime.signal of a cancelled call is aborted, and `quiet` settles when the tool has ended.',
    why: 'A tool can then clean up.',
    cure: 'Send the cancellation to the compartment.',
    check: ({ noticed }) => noticed ? undefined : 'the tool was not notified',
  },
  {
    id: 'sandbox-abort-next', level: 'must', spec: ABORT_SPEC,
    statement: 'The compartment serves the next call after a cancelled one that ended.',
    why: 'A session goes on after one call was stopped.',
    cure: 'End a compartment only if a cancelled call runs on.',
    check: ({ next }) => unlessDone(next),
  },
  {
    id: 'sandbox-abort-early', level: 'must', spec: ABORT_SPEC,
    statement: 'A call whose signal is aborted already does not run.',
    why: 'It was cancelled before it had any effect.',
    cure: 'Check the signal before you send the call.',
    check: ({ early, earlyRan }) => earlyRan ? 'it ran' : unlessRejected(early, 'TurnCancelled'),
  },
  {
    id: 'sandbox-kill', level: 'must', spec: 'docs/reference/limits.md',
    statement: 'A compartment whose cancelled call runs on is killed after graceMs, also in an endless loop.',
    why: 'Otherwise it works and computes for ever.',
    cure: 'Kill the thread or process from outside. Code inside cannot be trusted to stop.',
    check: ({ killed }) => unlessEnded(killed, 'failed'),
  },
  {
    id: 'sandbox-kill-others', level: 'must', spec: 'docs/reference/errors.md',
    statement: 'Other open calls of a killed compartment reject with a typed error of the class ExtensionHost.',
    why: 'They are not the fault of their tools, and may be repeated.',
    cure: 'Reject every open call when the compartment ends.',
    check: ({ bystander }) => hostError(bystander),
  },
])

async function observeCrash(target: SandboxTarget, bench: Bench) {
  return withSandbox(target, bench, async ({ open }) => {
    const opened = await open(EXAMPLE)
    const bystander = await begin(opened, 'stay')
    const crashed = await opened.call('crash')
    const { session } = opened
    const full = await open({ ...EXAMPLE, limits: { heapMb: 32 } })
    return {
      crashed, bystander: await bystander.end, ended: await settle(() => session.ended, bench),
      next: await opened.call('echo'), phase: await settle(() => session.lifecycle('activate'), bench),
      hoard: await full.call('hoard'),
    }
  })
}

const CRASH_SPEC = 'docs/reference/errors.md'
export const CRASH = groupOf(observed(observeCrash), [
  {
    id: 'sandbox-crash', level: 'must', spec: CRASH_SPEC,
    statement: 'If the code of a compartment crashes, every open call rejects with CompartmentCrashed.',
    why: 'The host goes on, and knows why the calls failed.',
    cure: 'Watch the thread or process, and reject every open call when it ends.',
    check: ({ crashed, bystander }) =>
      firstOf([crashed, bystander], (one) => unlessRejected(one, 'CompartmentCrashed')),
  },
  {
    id: 'sandbox-crash-ended', level: 'must', spec: CRASH_SPEC,
    statement: '`ended` resolves with the error of the crash.',
    why: 'The host restarts the extension with its next call.',
    cure: 'Settle `ended` once, and never reject it.',
    check: ({ ended }) => unlessEnded(ended, 'failed')
      ?? (ended.value?.kind === 'failed' && BulkheadError.is(ended.value.error) ? undefined : 'its error is not typed'),
  },
  {
    id: 'sandbox-gone', level: 'must', spec: CRASH_SPEC,
    statement: 'A call after the crash rejects with CompartmentGone: it did not run.',
    why: 'The host may then repeat it in a new compartment, whatever the tool does.',
    cure: 'Use CompartmentGone only for calls that were never sent.',
    check: ({ next }) => unlessRejected(next, 'CompartmentGone'),
  },
  {
    id: 'sandbox-crash-phase', level: 'must', spec: CRASH_SPEC,
    statement: 'A phase after the crash rejects with a typed error.',
    why: 'A host that stops must not wait for a compartment that is gone.',
    cure: 'Reject requests of an ended compartment.',
    check: ({ phase }) => hostError(phase),
  },
  {
    id: 'sandbox-heap', level: 'must', spec: 'docs/reference/limits.md',
    statement: 'Code that takes more than heapMb ends its own compartment, and its call rejects with the limit.',
    why: 'The host has the same machine.',
    cure: 'Set a limit for the thread or process.',
    check: ({ hoard }) => unlessRejected(hoard, 'CompartmentOutOfHeap', 'CompartmentOutOfMemory'),
  },
])

async function observeClose(target: SandboxTarget, bench: Bench) {
  return withSandbox(target, bench, async ({ open, tryOpen, sandbox }) => {
    const opened = await open(EXAMPLE)
    const { session } = opened
    const pending = await begin(opened, 'stay')
    const reason = new BulkheadError('HostClosed', 'Closed by the verification.')
    const first = await settle(() => session.close(reason), bench)
    const other = await open(EXAMPLE)
    return {
      pending: await pending.end, ended: await settle(() => session.ended, bench),
      again: first.times === 0 ? first : await settle(() => session.close(), bench), later: await opened.call('echo'),
      closed: [await settle(() => sandbox.close(), bench), await settle(() => sandbox.close(), bench)],
      other: await settle(() => other.session.ended, bench), reopened: await tryOpen(EXAMPLE),
    }
  })
}

const CLOSE_SPEC = 'docs/guides/lifecycle.md'
export const CLOSE = groupOf(observed(observeClose), [
  {
    id: 'sandbox-close', level: 'must', spec: CLOSE_SPEC,
    statement: 'Closing a compartment rejects its open calls with the given reason, and `ended` is closed.',
    why: 'A stop on purpose is no crash.',
    cure: 'Pass the reason of `close` to every open call.',
    check: ({ pending, ended }) => unlessRejected(pending, 'HostClosed') ?? unlessEnded(ended, 'closed'),
  },
  {
    id: 'sandbox-close-again', level: 'must', spec: CLOSE_SPEC,
    statement: 'Closing twice resolves, for a compartment and for the sandbox.',
    why: 'Several parts of a host stop the same thing.',
    cure: 'Return the same promise again.',
    check: ({ again, closed }) => firstOf([again, ...closed], unlessDone),
  },
  {
    id: 'sandbox-closed', level: 'must', spec: CLOSE_SPEC,
    statement: 'A call after the close is rejected.',
    why: 'It must not start the code again, nor wait for ever.',
    cure: 'Reject requests of a closed compartment.',
    check: ({ later }) => later.times === 0 ? 'it never settled' : later.error ? undefined : 'it ran',
  },
  {
    id: 'sandbox-close-all', level: 'must', spec: CLOSE_SPEC,
    statement: 'Closing the sandbox ends its compartments, and opens no more.',
    why: 'No process may outlive its host.',
    cure: 'Keep a list of open compartments, and reject `open` afterwards.',
    check: ({ other, reopened }) => unlessEnded(other, 'closed')
      ?? (reopened.error ? undefined : 'a compartment was opened afterwards'),
  },
])
