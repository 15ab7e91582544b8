import { createHost, openSqliteStore } from 'bulkhead'
import { mkdtemp, rm, writeFile, mkdir, cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
import { payload } from '../loads/echo.ts'
import { framedSocketOf } from './baselines.ts'

const EXTENSION = fileURLToPath(new URL('../../extensions/read-notes', import.meta.url))
const CONTENT = 'hello\n'.repeat(100)

/** A guarded call of a warm tool in a process. */
function reading<const Name extends string>(name: Name, skip: boolean) {
  return {
    name,
    answer: () => skip ? 'notes.md' : CONTENT,
    start: async (): Promise<Runner> => {
      await using opened = new AsyncDisposableStack()
      const workspace = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
      opened.defer(() => rm(workspace, { recursive: true, force: true }))
      await writeFile(join(workspace, 'notes.md'), CONTENT)
      await mkdir(join(workspace, '.bulkhead/tools'), { recursive: true })
      await cp(EXTENSION, join(workspace, '.bulkhead/tools/read-notes'), { recursive: true })
      const store = await openSqliteStore({ file: join(workspace, 'store', 'host.db') })
      const host = await createHost({ workspace, home: join(workspace, 'home'), trust: 'once', store })
      opened.defer(async () => void (await host.close()))
      const session = await host.openSession({ mode: 'yolo' })
      let calls = 0
      const run = async () => {
        const outcome = await session.call({
          id: `c${calls++}`, name: 'read_notes', arguments: { path: 'notes.md', ...(skip && { skip }) },
        })
        if (outcome.type === 'error') throw new Error(`${outcome.error.code}: ${outcome.error_text}`)
        return (outcome.data as { readonly text: string }).text
      }
      await run()
      const started = opened.move()
      return { run, stop: () => started.disposeAsync() }
    },
  } as const satisfies Side<Name>
}

export const brokerRead = defineSubject({
  title: 'What reading a small file through the broker adds to a call',
  compares: 'A guarded call of a warm third-party tool in a process, with a read and without one, which takes one more '
    + 'round trip. The goal is that it adds 0.08 ms at most.',
  sides: [framedSocketOf(payload), reading('without a read', true), reading('with a read', false)],
  modes: [{ kind: 'latency' }],
  ratios: [{ side: 'with a read', measure: 'p50', against: 'without a read' }],
})
