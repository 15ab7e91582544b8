import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditTimelineRow, CallStory } from '@bulkhead/contract/audit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-tail-'))
  writeFileSync(join(folder, 'a.txt'), 'first\n')
})
afterEach(() => rmSync(folder, { recursive: true }))

const store = () => join(folder, 'home/.bulkhead/bulkhead.db')
const call = (tool: string, args: object, ...more: readonly string[]) =>
  inside(['call', tool, '--args', JSON.stringify(args), ...more], folder)
const out = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await inside(args, folder)
  return code === 0 ? stdout : `${code} ${stderr}`
}

describe('the calls of the audit', () => {
  it('are shown with what was done and what allowed it, and each has its story', async () => {
    await call('read', { path: 'a.txt' })
    await call('write', { path: 'b.txt', content: 'new' }, '--mode', 'yolo')
    await call('read', { path: 'none.txt' })

    const shown = await out('audit', 'tail', '--since', 'today')
    expect(shown).toMatch(/^TIME \(.+\) +CALL +TOOL +WHAT +RESULT +DECIDED BY\n/)
    expect(shown).toMatch(/\/cli +read +a\.txt +ok \d.* +it only reads inside the workspace/)
    expect(shown).toMatch(/\/cli +write +b\.txt +ok \d.* +mode yolo\n/)
    expect(shown).toMatch(/\/cli +read +none\.txt +failed NotFound/)

    const rows = JSON.parse(await out('audit', 'tail', '--tool', 'write', '--json')) as AuditTimelineRow[]
    expect(rows).toEqual([expect.objectContaining({ tool: 'write', subject: 'b.txt', state: 'succeeded' })])
    expect(await out('audit', 'tail', '--failed')).not.toMatch(/a\.txt|b\.txt/)
    expect(await out('audit', 'tail', '--until', 'yesterday')).toBe('No calls.\n')

    const { session } = rows[0]!
    const story = await out('audit', 'show', `${session!.slice(0, 6)}/cli`)
    expect(story).toMatch(/^tool +write, bundled write@/m)
    expect(story).toMatch(/^arguments +SHA-256 [0-9a-f]{64}/m)
    expect(story).toMatch(/^decided +allowed by mode yolo: /m)
    expect(story).toMatch(/^began +writes b\.txt$/m)
    expect(story).toMatch(/^touched +fs\.write b\.txt \(wrote 3 B\)/m)
    expect(story).toMatch(/^result +succeeded, about \d+ characters$/m)
    expect(story).toMatch(/^chain +records \d+, \d+, link [0-9a-f]{64}$/m)
    expect(story.split('\n').length).toBeLessThan(16)

    const told = JSON.parse(await out('audit', 'show', 'cli', '--json')) as CallStory
    expect(told).toMatchObject({ subject: 'none.txt', errorCode: 'NotFound', attempts: 1 })
  })

  it('are the same in a named store and in an exported file', async () => {
    await call('read', { path: 'a.txt' })
    const exported = join(folder, 'audit.jsonl')
    writeFileSync(exported, await out('audit', 'export'))
    mkdirSync(join(folder, 'other'))
    const there = (name: string) => out('audit', 'tail', '--store', name, '--home', join(folder, 'other'))
    expect(await there(store())).toMatch(/a\.txt +ok/)
    expect(await there(exported)).toBe(await there(store()))
    expect(await out('audit', 'verify', '--store', exported)).toMatch(/^intact/)
    expect(await there(join(folder, 'none.db'))).toMatch(/^1 StoreUnavailable There is no audit at .*none\.db/)
    expect(await there('mysql://x')).toMatch(/^1 ConfigInvalid The URL of the store must begin with postgres:/)
  })

  it('that are not there, and times of another form, are refused with advice', async () => {
    await call('read', { path: 'a.txt' })
    expect(await out('audit', 'show', 'nope')).toMatch(/^1 NotFound .*"bulkhead audit tail" lists the calls/)
    expect(await out('audit', 'tail', '--since', 'soon')).toMatch(/^2 --since must be a time such as 9:00, today/)
    expect(await out('audit', 'show')).toMatch(/^2 Missing call/)
  })
})

describe('--store', () => {
  it.each([
    [['approvals', 'list', '--all'], 'No approvals.'], [['undo'], 'No call has changed a file here.'],
    [['ps'], 'No host uses this store now.'], [['thaw'], 'Nothing was frozen.'], [['store', 'status'], 'other.db'],
    [['audit', 'export'], '"position":1'],
  ])('names the store of %j', async (args, expected) => {
    const other = join(folder, 'other.db')
    await call('read', { path: 'a.txt' }, '--store', other)
    expect(existsSync(store())).toBe(false)
    expect(await out(...args, '--store', other)).toContain(expected)
  })

  it.each([['ps'], ['freeze'], ['thaw'], ['undo'], ['audit', 'tail']])('is not made by %s', async (...args) => {
    const typo = join(folder, 'typo.db')
    expect(await out(...args, '--store', typo)).toMatch(/^1 StoreUnavailable There is no .* at .*typo\.db/)
    expect(existsSync(typo)).toBe(false)
  })

  it('contradicts --no-store', async () => {
    expect((await call('read', { path: 'a.txt' }, '--no-store', '--store', 'x.db')).stderr)
      .toContain('cannot be used together')
  })
})
