// Runs the tools on a tree of 100,000 files and on a 1 GB file, and with many concurrent edits. Run with `pnpm soak`.
// Exits with 1 on failure.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, realpath, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BundledTool, CompartmentSession } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { createSandbox } from '@bulkhead/sandbox'
import { toolRequest } from '../test/tool-request.ts'

const FOLDERS = 1_000
const FILES_IN_EACH = 100
const MB = 1024 * 1024

const workspace = await realpath(await mkdtemp(join(tmpdir(), 'bulkhead-soak-')))
const sandbox = createSandbox({ workspace })
const sessions = new Map<string, Promise<CompartmentSession>>()
let calls = 0
async function call(tool: BundledTool, args: JsonObject, signal = new AbortController().signal): Promise<JsonObject> {
  const session = await sessions.getOrInsertComputed(tool, () =>
    sandbox.open(toolRequest(tool, { workspace: [workspace], 'user-data': [] })))
  return await session.call({ callId: `c${++calls}`, tool, args, signal }) as JsonObject
}

async function step(what: string, work: () => Promise<void>): Promise<void> {
  const began = performance.now()
  await work()
  process.stdout.write(`${String(Math.round(performance.now() - began)).padStart(7)} ms  ${what}\n`)
}

try {
  await step('creates a tree of 100,000 files', async () => {
    for (let at = 0; at < FOLDERS; at++) {
      const folder = join(workspace, 'tree', `p${at % 10}`, `q${Math.floor(at / 10) % 10}`, `r${Math.floor(at / 100)}`)
      await mkdir(folder, { recursive: true })
      await Promise.all(
        Array.from({ length: FILES_IN_EACH }, (_, file) =>
          writeFile(
            join(folder, `f${file}.${file === 7 ? 'md' : 'ts'}`),
            `line of ${at}\n${file === 7 && at % 5 === 0 ? 'needle\n' : ''}`,
          ),
        ),
      )
    }
    await utimes(join(workspace, 'tree/p3/q0/r0/f7.md'), new Date('2100-01-01'), new Date('2100-01-01'))
  })
  await step('glob finds all files, newest first', async () => {
    const { paths, total } = await call('glob', { pattern: 'tree/**' })
    assert.deepEqual(
      [(paths as string[])[0], (paths as string[]).length, total],
      ['tree/p3/q0/r0/f7.md', 10_000, FOLDERS * FILES_IN_EACH],
    )
  })
  await step('glob finds some files', async () => {
    assert.equal((await call('glob', { pattern: '**/q1/**/*.md' }))['total'], FOLDERS / 10)
  })
  await step('grep finds rare lines', async () => {
    assert.equal((await call('grep', { pattern: 'needle' }))['total'], FOLDERS / 5)
  })
  await step('grep finds a line in every file', async () => {
    const { matches, total } = await call('grep', { pattern: 'line' })
    assert.deepEqual([(matches as unknown[]).length, total], [10_000, FOLDERS * FILES_IN_EACH])
  })
  await step('grep and glob still work after many cancelled calls', async () => {
    for (let round = 0; round < 60; round++) {
      const cancel = new AbortController()
      const running = call(
        round % 2 === 0 ? 'grep' : 'glob', { pattern: round % 2 === 0 ? 'line' : '**' }, cancel.signal,
      )
      setTimeout(() => cancel.abort(new Error('enough')), round * 3)
      await running.catch((error: Error) => assert.match(error.message, /enough/))
    }
    assert.equal((await call('glob', { pattern: '**/*.md' }))['total'], FOLDERS)
  })
  await step('read and grep process a 1 GB file without loading it', async () => {
    const path = join(workspace, 'big.txt')
    const piece = 'a line like any other\n'.repeat(50_000)
    for (let at = 0; at < 1024 * MB; at += piece.length) await writeFile(path, piece, { flag: 'a' })
    await writeFile(path, 'the last line\n', { flag: 'a' })
    const before = process.memoryUsage().rss
    const pieces = Math.ceil(1024 * MB / piece.length)
    // Lines are searched only in the first part of a file. The rest is read by bytes.
    await assert.rejects(call('read', { path: 'big.txt', offset: pieces * 50_000 + 1 }), { code: 'InputInvalid' })
    assert.equal(
      (await call('read', { path: 'big.txt', byte_start: pieces * piece.length }))['content'], 'the last line\n',
    )
    assert.equal((await call('grep', { pattern: 'last', path: 'big.txt' }))['total'], 1)
    assert.ok(process.memoryUsage().rss - before < 400 * MB, 'memory grew with the file')
  })
  await step('a thousand concurrent edits of a file are all applied', async () => {
    await writeFile(join(workspace, 'edits'), Array.from({ length: 1_000 }, (_, i) => `<${i}>\n`).join(''))
    await Promise.all(Array.from({ length: 20 }, async (_, lane) => {
      for (let i = lane; i < 1_000; i += 20)
        await call('edit', { path: 'edits', old_string: `<${i}>`, new_string: `[${i}]` })
    }))
    assert.equal(
      await readFile(join(workspace, 'edits'), 'utf8'), Array.from({ length: 1_000 }, (_, i) => `[${i}]\n`).join(''),
    )
  })
} finally {
  await sandbox.close()
  await rm(workspace, { recursive: true, force: true })
}
