// @module-tag long
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { newSchema, sharedPostgres } from '../../../../scripts/postgres/server.ts'
import { BUNDLED } from '../bundled.ts'
import { BLOCKS, ROOT } from '../pages/blocks.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-durable-')))
  mkdirSync(join(folder, 'node_modules'))
  for (const [name, target] of [
    ['bulkhead', 'packages/bulkhead'], ['@dbos-inc', 'packages/bulkhead/node_modules/@dbos-inc'],
  ] as const) symlinkSync(join(ROOT, target), join(folder, 'node_modules', name))
  const page = BLOCKS.find(({ file }) => file === 'orders.ts')!
  writeFileSync(join(folder, 'orders.ts'), page.text)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const lines = (name: string) => readFileSync(join(folder, name), 'utf8')

describe('the example with DBOS', needs('PostgreSQL'), () => {
  it('goes on after its process was killed, and orders once', async () => {
    const url = (await sharedPostgres()).url(newSchema())
    const start = () => spawn(process.execPath, [...BUNDLED, 'orders.ts', 'order-1'], {
      cwd: folder, env: { ...process.env, HOME: folder, DATABASE_URL: url }, stdio: ['ignore', 'pipe', 'inherit'],
    })
    const first = start()
    for await (const said of first.stdout) if (String(said).includes('placed')) break
    first.kill('SIGKILL')
    await once(first, 'close')
    const second = start()
    const [said] = await Promise.all([text(second.stdout), once(second, 'close')])
    expect(said).toContain('output')
    expect([lines('place_order.txt'), lines('note_order.txt')]).toEqual(['tea\n', 'tea\n'])
  })
})
