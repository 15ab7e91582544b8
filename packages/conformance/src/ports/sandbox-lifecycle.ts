import type { LifecyclePhase } from '@bulkhead/contract'
import { firstOf } from '../requirement.ts'
import { withSandbox, type ExampleCompartment, type SandboxTarget } from './sandbox-bench.ts'
import { groupOf, observed, settle, unlessDone, unlessRejected, type Bench, type Settled } from './verify.ts'

const toolless = (more: string): string => `export default { ${more} tools: { run: { execute() {} } } }`
const example = (source: string, more: Partial<ExampleCompartment> = {}): ExampleCompartment =>
  ({ source, tools: { run: {} }, ...more })

/** `activate` is missing, and `dispose` throws. */
const PHASES = toolless(`
  init({ config, log }) { log.info('init ' + config.greeting) },
  async deactivate({ log }) { log.warn('deactivate') },
  dispose() { throw new Error('broken on purpose') },
`)

const MISMATCHES = [
  'export default { tools: { other: { execute() {} } } }', 'export default { tools: { run: {} } }', 'export default 1',
  'export default { tools: { run: { execute() {} }, other: { execute() {} } } }',
  'export default { tools: { run: { requires: { fs: { read: ["**"] } }, execute() {} } } }',
  'export default { tools: { run: { input: { type: "array" }, execute() {} } } }',
]

async function observeLifecycle(target: SandboxTarget, bench: Bench) {
  return withSandbox(target, bench, async ({ open, tryOpen }) => {
    const { session, log } = await open(example(PHASES, { config: { greeting: 'hello' } }))
    const run = (phase: LifecyclePhase, one = session): Promise<Settled<void>> =>
      settle(() => one.lifecycle(phase), bench)
    const isInline = target.placement === 'inline'
    const abortOpening = (): Promise<Settled<string>> => {
      const stop = new AbortController()
      const opening = tryOpen(example('for (;;);', { signal: stop.signal }))
      setImmediate(() => stop.abort())
      return opening
    }
    const slow = await open(example(toolless('init() { return new Promise(() => {}) },'), { limits: { phaseMs: 100 } }))
    return {
      offers: [...session.offers.phases].toSorted(),
      init: await run('init'), missing: await run('activate'), deactivate: await run('deactivate'),
      throwing: await run('dispose'), log: log.map(({ level, text }) => `${level} ${text}`), endless: await run('init', slow.session),
      mismatches: await Promise.all(MISMATCHES.map((source) => tryOpen(example(source)))),
      // The bench imports inline code, so its opening takes no time.
      failedImport: isInline ? undefined : await tryOpen(example('throw new Error("broken on purpose")')),
      aborted: isInline ? []
        : [await tryOpen(example(toolless(''), { signal: AbortSignal.abort() })), await abortOpening()],
    }
  })
}

const SPEC = 'docs/guides/lifecycle.md'
export const LIFECYCLE = groupOf(observed(observeLifecycle), [
  {
    id: 'sandbox-phases', level: 'must', spec: SPEC,
    statement: 'A phase of the code runs when the host asks for it, with the configuration.',
    why: 'The host decides when an extension starts and stops.',
    cure: 'Run no phase by default, and pass config and log to each.',
    check: ({ init, deactivate, log }) => unlessDone(init) ?? unlessDone(deactivate)
      ?? (log.join() === 'info init hello,warn deactivate' ? undefined : `the code logged "${log.join(', ')}"`),
  },
  {
    id: 'sandbox-phase-missing', level: 'must', spec: SPEC,
    statement: 'A phase that the code does not have succeeds.',
    why: 'All phases are optional.',
    cure: 'Resolve at once.',
    check: ({ missing }) => unlessDone(missing),
  },
  {
    id: 'sandbox-phase-throws', level: 'must', spec: SPEC,
    statement: 'A phase that throws rejects with LifecycleFailure and its message.',
    why: 'An operator must know why an extension does not start.',
    cure: 'Wrap whatever the phase throws.',
    check: ({ throwing }) => unlessRejected(throwing, 'LifecycleFailure')
      ?? (throwing.error!.message.includes('broken on purpose') ? undefined : 'it has another message'),
  },
  {
    id: 'sandbox-phase-timeout', level: 'must', spec: SPEC,
    statement: 'A phase that takes longer than phaseMs rejects with LifecycleTimeout.',
    why: 'A host must start and stop in bounded time.',
    cure: 'Measure the phase in the host.',
    check: ({ endless }) => unlessRejected(endless, 'LifecycleTimeout'),
  },
  {
    id: 'sandbox-offers', level: 'must', spec: SPEC,
    statement: 'offers.phases names exactly the phases that the code has.',
    why: 'A host skips the others.',
    cure: 'Read them from the default export.',
    check: ({ offers }) =>
      offers.join() === 'deactivate,dispose,init' ? undefined : `it names ${offers.join(', ') || 'none'}`,
  },
  {
    id: 'sandbox-exports', level: 'must', spec: SPEC,
    statement: 'Code that does not offer the tools as they are declared is not opened: ExportsMismatch.',
    why: 'A person agreed to what the manifest declares.',
    cure: 'Compare the default export with the tools of the request before `open` resolves.',
    check: ({ mismatches }) => mismatches.map((one) => unlessRejected(one, 'ExportsMismatch')).find(Boolean),
  },
  {
    id: 'sandbox-import', level: 'must', spec: SPEC,
    statement: 'Code that throws while it is imported is not opened: CompartmentStartFailed.',
    why: 'An extension that cannot start must not look as if it had.',
    cure: 'Reject `open` with the reason, and leave nothing behind.',
    check: ({ failedImport }) => failedImport && unlessRejected(failedImport, 'CompartmentStartFailed'),
  },
  {
    id: 'sandbox-open-aborted', level: 'must', spec: 'docs/guides/sessions.md',
    statement: 'open rejects if its signal is or becomes aborted.',
    why: 'A host that closes must not wait for a start that is not needed any more.',
    cure: 'Stop the start, and close what was opened.',
    check: ({ aborted }) => firstOf(aborted, ({ times, error }) =>
      error ? undefined : times === 0 ? 'it never settled' : 'it opened a compartment'),
  },
])
