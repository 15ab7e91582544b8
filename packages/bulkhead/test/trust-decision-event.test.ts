import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EventOf, Interactor } from '@bulkhead/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost, openSqliteStore, type CreateHostOptions, type Host } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
let host: Host | undefined
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-decided-')))
  writeExtension(
    join(folder, '.bulkhead'), { id: 'greeter', tools: [{ name: 'greet' }] },
    'export default { tools: { greet: { execute: () => 1 } } }',
  )
})
afterEach(async () => {
  await host?.close()
  rmSync(folder, { recursive: true })
})

const answering = (value: string): Interactor => ({ interact: async () => ({ status: 'accepted', value }) })
const open = async (options: Partial<CreateHostOptions> = {}) => {
  host = await createHost({
    workspace: folder, home: join(folder, 'home'), cache: CACHE,
    store: await openSqliteStore({ file: join(folder, 'audit.db') }), ...options,
  })
  return host
}
/** The audit records, after the host has closed. */
const audited = async (): Promise<readonly unknown[]> => {
  await host?.close()
  const store = await openSqliteStore({ file: join(folder, 'audit.db') })
  try {
    const records = (await store.records()).map(({ record }) => record as unknown as EventOf<'TrustDecision'>)
    return records.filter(({ type }) => type === 'TrustDecision').map(({ path, decision }) => [path, decision])
  } finally {
    await store.close()
  }
}

it.each(['trusted', 'once', 'declined'] as const)(
  'the audit contains the decision "%s" of a user',
  async (decision) => {
    await open({ interactor: answering(decision) })
    expect(await audited()).toEqual([[folder, decision]])
  },
)

it('the audit contains the decision of an embedder, and the lack of a user', async () => {
  await open({ trust: 'trusted' })
  await host?.close()
  await open()
  expect(await audited()).toEqual([[folder, 'trusted'], [folder, 'declined']])
})

it('fires once for each decision, and again when the project has changed', async () => {
  const decisions: string[] = []
  const { reload, on } = await open({ interactor: answering('once') })
  on((event) => { if (event.type === 'TrustDecision') decisions.push(event.decision) }, ['TrustDecision'])
  await reload()
  expect(decisions).toEqual([])
  writeFileSync(join(folder, '.bulkhead/config.json'), '{"mode":"yolo"}')
  await reload()
  expect(decisions).toEqual(['once'])
  expect(await audited()).toEqual([[folder, 'once'], [folder, 'once']])
})

it('fires for a folder that the host switches to, and not for an empty one', async () => {
  const decisions: string[] = []
  const empty = join(folder, 'home')
  const first = await open({ workspace: mkdtempSync(join(folder, 'empty-')), home: empty })
  first.on((event) => { if (event.type === 'TrustDecision') decisions.push(`${event.path} ${event.decision}`) })
  await first.switchWorkspace(folder, { trust: 'once' })
  expect(decisions).toEqual([`${folder} once`])
  expect(await audited()).toEqual([[folder, 'once']])
})
