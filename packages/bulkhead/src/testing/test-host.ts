import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requireOptions } from '@bulkhead/contract'
import type { Session, SessionOptions } from '@bulkhead/host'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import type { CreateHostOptions, Host } from '../facade/create-host.ts'
import type { FakeClock } from './fake-clock.ts'
import { type FakeTool, fakeTool } from './fake-tools.ts'
import type { ScriptedApprover } from './scripted-approver.ts'
import { loadExtension, type TestExtension } from './test-extension.ts'

export interface TestHostOptions extends Omit<CreateHostOptions, 'workspace'> {
  /** Default: a new temporary folder, which is removed when the host closes. */
  readonly workspace?: string
  /** Default: a new temporary folder, which is removed when the host closes. */
  readonly home?: string
  /** Tools to register, by name. The fake of a bundled tool replaces the extension that offers it. */
  readonly tools?: Readonly<Record<string, FakeTool>>
  /** An extension to load from its folder, as `bulkhead dev` does. It is built, and runs in a compartment. */
  readonly extension?: TestExtension
  /** The approver of each session that brings none. `close` checks that all of its answers were used. */
  readonly approver?: ScriptedApprover
  /** Default: the time of the system. */
  readonly clock?: FakeClock
}

/** A host for one test. `await using` closes it. */
export interface TestHost extends Host, AsyncDisposable {
  readonly workspace: string
  readonly home: string
  /**
   * Closes the sessions and the host and removes its folders. Then rejects if the approver was asked something
   * unexpected, or has unused answers. Idempotent.
   */
  close(): ReturnType<Host['close']>
}

/** A real host in temporary folders. Rejects as `createHost` and `register` do. */
export async function createTestHost(options: TestHostOptions = {}): Promise<TestHost> {
  const [{ assembleHost, HOST_OPTIONS }, { withProfile }, { openPostgres }] = await Promise.all([
    import('../facade/create-host.ts'), import('../facade/profiles.ts'), import('../facade/store-choice.ts'),
  ])
  requireOptions('createTestHost', options, { ...HOST_OPTIONS, ...OPTIONS })
  const { tools = {}, extension, approver, clock, store: place, ...rest } = options
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'bulkhead-test-')))
  const { workspace = join(folder, 'workspace'), home = join(folder, 'home') } = options
  const remove = () => rm(folder, { recursive: true, force: true })
  await Promise.all(['workspace', 'home'].map((name) => mkdir(join(folder, name))))
  let host: Host | undefined
  try {
    const { tenant } = rest
    const store = typeof place === 'string' ? await openPostgres(place, {}, { home, ...(tenant !== undefined && { tenant }) }) : place
    const loaded = extension && await loadExtension(extension, { ...rest, ...(store && { store }), home })
    const given = { ...rest, ...(store && { store }), ...loaded?.options, workspace, home }
    host = (await assembleHost(withProfile(given), rest.trust, { clock })).host
    if (loaded) await host.register([loaded.extension])
    for (const name of Object.keys(tools)) await unregisterBundled(name, host)
    await host.register(Object.entries(tools).map(([name, fake]) => fakeTool(name, fake)))
  } catch (thrown) {
    await host?.close()
    await remove()
    throw thrown
  }
  const { openSession, close } = host
  const sessions: Session[] = []
  const closeAll = async () => {
    const stop = clock && followTime(clock)
    await Promise.all(sessions.map((session) => session.close()))
    const report = await close()
    stop?.()
    await remove()
    approver?.check()
    return report
  }
  let closing: ReturnType<typeof closeAll> | undefined
  const closeOnce = () => (closing ??= closeAll())
  return Object.assign(host, {
    workspace, home, close: closeOnce,
    async openSession(session?: SessionOptions) {
      const opened = await openSession(approver ? { approver, ...session } : session)
      sessions.push(opened)
      return opened
    },
    async [Symbol.asyncDispose]() {
      await closeOnce()
    },
  })
}

const OPTIONS: OptionForms<Pick<TestHostOptions, 'tools' | 'extension' | 'approver' | 'clock'>> = {
  extension: forms.fields({
    folder: forms.either(forms.text, forms.having('toJSON')), config: forms.object, state: forms.anything,
  }),
  tools: forms.object, approver: forms.having('approve', 'check'), clock: forms.having('now', 'after', 'advance'),
}

async function unregisterBundled(name: string, host: Host): Promise<void> {
  const bundled = host.tool(name)
  if (bundled?.layer === 'bundled') await host.unregister(bundled.extension, 'bundled')
}

const STEP_MS = 20

/** Moves a fake clock with the system's time, so that what does not stop runs into its deadline. */
function followTime(clock: FakeClock): () => void {
  const timer = setInterval(() => void clock.advance(STEP_MS), STEP_MS)
  return () => clearInterval(timer)
}
