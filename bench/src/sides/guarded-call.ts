import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, openSqliteStore } from 'bulkhead'
import type { Runner, Side } from '../harness/subject.ts'
import { payload } from '../loads/payload.ts'

export interface GuardedCall<Name extends string> {
  readonly name: Name
  readonly placement: 'thread' | 'process'
  /** How many tools the project registers, the called one among them. */
  readonly tools: number
  readonly audit: boolean
}

/**
 * The whole path of a call through the facade, with everything that guards it at work: the arguments are held against a schema, the
 * tool is gated and a person has approved of it for the session, a hook speaks before and another hears after it, the journal and
 * the audit are kept in a store on a disk.
 */
export function guardedCall<const Name extends string>({ name, placement, tools, audit }: GuardedCall<Name>) {
  return {
    name,
    answer: payload,
    start: async (): Promise<Runner> => {
      await using opened = new AsyncDisposableStack()
      const workspace = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
      opened.defer(() => rm(workspace, { recursive: true, force: true }))
      await layOutTools(join(workspace, '.bulkhead', 'tools'), tools)
      const store = await openSqliteStore({ file: join(workspace, 'store', 'host.db') })
      const config = { isolation: { project: placement }, audit: { enabled: audit } }
      const host = await createHost({ workspace, home: join(workspace, 'home'), trust: 'once', store, config })
      opened.defer(async () => void (await host.close()))
      let questions = 0
      let hooks = 0
      const session = await host.openSession({
        mode: 'ask',
        approver: {
          approve: async () => {
            questions++
            return { decision: 'session' }
          },
        },
        hooks: { beforeToolExecution: () => ++hooks > 0, afterToolExecution: () => void hooks++ },
      })
      const run = async (i: number) => {
        const outcome = await session.call({ id: `c${i}`, name: 'echo', arguments: payload(i) })
        if (outcome.type === 'error') throw new Error(`${outcome.error.code}: ${outcome.error_text}`)
        return outcome.data
      }
      await run(0)
      const known = host.tools().filter(({ layer }) => layer === 'project').length
      if (known !== tools || questions !== 1 || hooks !== 2) {
        throw new Error(`It is not guarded as it should be: ${known} tools, ${questions} questions, ${hooks} hooks.`)
      }
      const started = opened.move()
      return { run, stop: () => started.disposeAsync() }
    },
  } as const satisfies Side<Name>
}

/** As many as an extension may have in each, all with one schema. */
const TOOLS_EACH = 100

async function layOutTools(folder: string, count: number): Promise<void> {
  const names = ['echo', ...Array.from({ length: count - 1 }, (_, index) => `echo${index}`)]
  for (let first = 0; first < count; first += TOOLS_EACH) {
    const id = `echoes${first}`
    const own = names.slice(first, first + TOOLS_EACH)
    await mkdir(join(folder, id), { recursive: true })
    await writeFile(join(folder, id, 'bulkhead.json'), JSON.stringify(manifestOf(id, own)))
    await writeFile(join(folder, id, 'index.js'), `export default { tools: { ${own.map((tool) => `${tool}: { execute: (args) => args }`).join(', ')} } }\n`)
  }
}

const manifestOf = (id: string, tools: readonly string[]) => ({
  kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id, version: '1.0.0', main: './index.js',
  tools: tools.map((name) => ({
    name,
    description: 'Gives back the text it was given.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false },
    gated: true,
    mode: 'read',
  })),
})
