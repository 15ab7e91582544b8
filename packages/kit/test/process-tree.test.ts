import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { firstData } from '../../../scripts/first-data.ts'
import { readPsTable, treeUse, useIn } from '../src/process-tree.ts'

it('counts what a process and its children use, and nothing of one that has ended', async () => {
  const spin = 'for (const end = performance.now() + 80; performance.now() < end;);'
  const keep = 'setInterval(() => undefined, 1000)'
  const inner = `${spin} const kept = Buffer.alloc(60_000_000, 1); console.log(kept.length); ${keep}`
  const outer = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(inner)}],`
    + ` { stdio: 'inherit' }); ${keep}`
  const child = spawn(process.execPath, ['-e', outer], { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  await firstData(child.stdout)
  const { memoryBytes, cpuMs } = (await treeUse(child.pid!))!
  process.kill(-child.pid!, 'SIGKILL')
  await once(child, 'exit')
  // Two of Node, and the buffer.
  expect(memoryBytes).toBeGreaterThan(120_000_000)
  expect(cpuMs).toBeGreaterThan(80)
  expect(await treeUse(child.pid!)).toBeUndefined()
})

it('reads the table of processes of systems without /proc', () => {
  const rows = readPsTable([
    '    1     0   100 1-02:03:04', '   20     1 2000   0:01.50', '  300    20  30  00:00:02', ' 4 1 1 0:09', '', '',
  ].join('\n'))
  expect(useIn(rows, 20)).toEqual({ memoryBytes: 2_030 * 1_024, cpuMs: 3_500 })
  expect(useIn(rows, 1)!.cpuMs).toBe((86_400 + 2 * 3_600 + 3 * 60 + 4) * 1_000 + 12_500)
  expect(useIn(rows, 5)).toBeUndefined()
})
