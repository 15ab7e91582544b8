import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InteractionResponse, Interactor, TrustRecord } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHeadlessInteractor, createHost, createProgrammaticInteractor } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-trust-')))
  // Without it, the command verifies the bundled tools each time.
  mkdirSync(home(), { recursive: true })
  writeExtension(
    join(folder, '.bulkhead'), { id: 'greeter', tools: [{ name: 'greet' }] },
    'export default { tools: { greet: { execute: () => 1 } } }',
  )
})
afterEach(() => rmSync(folder, { recursive: true }))

const home = () => join(folder, 'home/.bulkhead')
/** Whether a new host offers the tool of the project, without a user to ask. */
const offers = async (): Promise<boolean> => {
  const host = await createHost({ workspace: folder, home: home(), cache: CACHE })
  try {
    return host.tools().some(({ name }) => name === 'greet')
  } finally {
    await host.close()
  }
}

describe('bulkhead trust', () => {
  it('trusts the project until it changes', async () => {
    expect(await offers()).toBe(false)
    const { code, stdout } = await inside(['trust', '--yes'], folder)
    expect([code, stdout]).toEqual([0, expect.stringContaining(`${folder} is trusted (content`)])
    expect([await offers(), await offers()]).toEqual([true, true])
    writeFileSync(join(folder, '.bulkhead/config.json'), '{"mode":"yolo"}')
    const { stdout: after } = await inside(['tools'], folder)
    expect(after).not.toContain('greeter@')
    expect(after).toContain('ProjectTrustRequired (trust)')
  })

  it('trusts once, declines, and lists the decisions', async () => {
    expect((await inside(['trust', '--once', '--yes', '--json'], folder)).code).toBe(0)
    expect([await offers(), await offers()]).toEqual([true, false])
    const declined = JSON.parse((await inside(['trust', folder, '--decline', '--json'], folder)).stdout) as TrustRecord
    expect(declined).toMatchObject({
      path: folder, decision: 'declined', digest: expect.stringMatching(/^[0-9a-f]{128}$/),
    })
    writeFileSync(join(home(), 'trust.jsonl'), 'what?\n', { flag: 'a' })
    const { stdout, stderr } = await inside(['trust', '--list'], folder)
    expect(stdout).toMatch(new RegExp(`declined +\\S+ +[0-9a-f]{12} +${folder}`))
    expect(stderr).toMatch(/TrustEntryInvalid \(trust\)\n {2}Line 4 /)
  })

  it.each([
    ['--once', '--decline'], ['--status', '--list'], ['--status', '--yes'], ['--decline', '--accept', 'abcdef123456'],
    ['--accept', 'x'], ['a', 'b'], ['--trust-project'],
  ])('refuses contradicting options: %s %s %s', async (...args) => {
    expect((await inside(['trust', ...args.filter((word) => word !== undefined)], folder)).code).toBe(2)
  })

  it('reports a missing project', async () => {
    const missing = await inside(['trust', join(folder, 'nowhere')], folder)
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('ProjectPathInvalid')])
  })
})

describe('a user who is asked', () => {
  const decisions = () => readFileSync(join(home(), 'trust.jsonl'), 'utf8').match(/"decision":"(\w+)"/g) ?? []
  /** How often the user was asked, and whether the tool of the project was offered. */
  const start = async (value: InteractionResponse): Promise<readonly [number, boolean]> => {
    let asked = 0
    const interactor: Interactor = { interact: async () => (asked++, value) }
    const host = await createHost({ workspace: folder, home: home(), cache: CACHE, interactor })
    try {
      return [asked, host.tools().some(({ name }) => name === 'greet')]
    } finally {
      await host.close()
    }
  }

  it('and trusts is asked again only after the project changed', async () => {
    expect(await start({ status: 'accepted', value: 'trusted' })).toEqual([1, true])
    expect(await start({ status: 'rejected' })).toEqual([0, true])
    writeFileSync(join(folder, '.bulkhead/tools/greeter/index.js'), 'export default {}')
    expect(await start({ status: 'rejected' })).toEqual([1, false])
    expect(decisions()).toEqual(['"decision":"trusted"'])
  })

  it.each([true, 'once'])('and answers %s is asked at every start', async (value) => {
    expect(await start({ status: 'accepted', value })).toEqual([1, true])
    expect(await start({ status: 'accepted', value: false })).toEqual([1, false])
  })

  it('and declines is not asked again', async () => {
    expect(await start({ status: 'accepted', value: 'declined' })).toEqual([1, false])
    expect(await start({ status: 'accepted', value: true })).toEqual([0, false])
  })

  it.each(['admin', 1, null, { trusted: true }])('and gives the invalid answer %j trusts nothing', async (value) => {
    expect(await start({ status: 'accepted', value })).toEqual([1, false])
  })

  it.each<[string, Interactor]>([
    ['is absent', createHeadlessInteractor()],
    ['fails', { interact: () => { throw new Error('no window') } }],
    ['answers nothing', { interact: async () => undefined as never }],
  ])('and %s trusts nothing, and the host starts', async (_, interactor) => {
    const host = await createHost({ workspace: folder, home: home(), cache: CACHE, interactor })
    expect(host.diagnostics).toMatchObject([{ code: 'ProjectTrustRequired' }])
    await host.close()
  })

  it('no longer has to answer when the host closes', async () => {
    await inside(['trust', '--yes'], folder)
    const interactor = createProgrammaticInteractor()
    const host = await createHost({ workspace: folder, home: home(), cache: CACHE, interactor })
    const asked = Promise.withResolvers<void>()
    interactor.onQuestion(() => asked.resolve())
    writeFileSync(join(folder, '.bulkhead/config.json'), '{"mode":"yolo"}')
    const reloading = host.reload().catch(({ code }: { readonly code: string }) => code)
    await asked.promise
    await host.close()
    expect(interactor.pending).toEqual([])
    expect(await reloading).toBe('HostClosed')
  })

  it('is asked by several hosts at once with separate ids', async () => {
    const interactor = createProgrammaticInteractor()
    const both = Promise.withResolvers<void>()
    interactor.onQuestion(() => { if (interactor.pending.length === 2) both.resolve() })
    const opening = [1, 2].map(() => createHost({ workspace: folder, home: home(), cache: CACHE, interactor }))
    await both.promise
    for (const { correlationId } of interactor.pending)
      interactor.answer(correlationId, { status: 'accepted', value: 'once' })
    for (const host of await Promise.all(opening)) await host.close()
  })
})
