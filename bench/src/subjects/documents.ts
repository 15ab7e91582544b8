import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OpenapiDocuments } from '@bulkhead/bridges/openapi'
import type { ResolvedConfig } from '@bulkhead/contract'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'
import { payload } from '../loads/echo.ts'
import { guardedCall } from './host-calls.ts'

const DOCUMENT_CHARS = 3 * 1024 * 1024
const OPERATIONS = 2_000
/** How much a document may add. */
const MOST_MS = 20

function documentText(): string {
  const head = "openapi: 3.1.0\ninfo: { title: Bench, version: '1' }\nservers: [{ url: https://example.com }]\npaths:\n"
  const note = 'It says what this parameter is for. '.repeat(
    Math.ceil(DOCUMENT_CHARS / OPERATIONS / 6 / 36)).trim()
  const parameters = Array.from({ length: 6 }, (_, index) =>
    `        - { name: p${index}, in: query, schema: { type: string, enum: [a, b, c] }, description: ${note} }\n`).join('')
  return head + Array.from({ length: OPERATIONS }, (_, index) =>
    `  /things${index}:\n    get:\n      operationId: getThing${index}\n      summary: Reads thing ${index}\n`
    + `      parameters:\n${parameters}      responses: { '200': { description: ok } }\n`).join('')
}

/** The document that is being read. */
let reading: Promise<unknown> | undefined

const call = guardedCall({ name: 'call', placement: 'process', tools: 1, audit: true })

/** Calls while no document is read, with the time that one may add. */
const alone = {
  name: `a call, and ${MOST_MS} ms`,
  answer: payload,
  start: async (): Promise<Runner> => {
    const { run, stop } = await call.start()
    return {
      stop,
      run: async (i) => {
        const answer = await run(i)
        await sleep(MOST_MS)
        return answer
      },
      // The other side may have left one.
      between: async () => void await reading,
    }
  },
} as const satisfies Side

/** Calls while documents are read without a break, each anew: it has no cache. */
const beside = {
  name: 'a call beside a document',
  answer: payload,
  start: async (): Promise<Runner> => {
    await using started = new AsyncDisposableStack()
    const folder = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
    started.defer(() => rm(folder, { recursive: true, force: true }))
    const text = documentText()
    if (text.length < DOCUMENT_CHARS) throw new Error(`The document has ${text.length} characters only.`)
    const document = join(folder, 'api.yaml')
    await writeFile(document, text)
    const openapi = { bench: { document } }
    const config = { merged: { openapi }, layers: [{ layer: 'global', location: folder, config: { openapi } }] }
    const read = async (): Promise<void> => {
      const documents = new OpenapiDocuments({ workspace: folder, home: folder })
      const { extensions: [found] } = await documents.offer(config as unknown as ResolvedConfig)
      if (found?.manifest.tools.length !== OPERATIONS) throw new Error('The document was not read.')
    }
    const { run, stop } = await call.start()
    started.defer(stop)
    const everything = started.move()
    return {
      run: (i) => {
        reading ??= read().finally(() => void (reading = undefined))
        return run(i)
      },
      stop: async () => {
        await reading
        await everything.disposeAsync()
      },
    }
  },
} as const satisfies Side

export const documents = defineSubject({
  title: 'Reading a document of 3 MB beside calls',
  compares: `Calls in a process while OpenAPI documents in YAML are read, against calls alone plus ${MOST_MS} ms.`,
  sides: [alone, beside],
  modes: [{ kind: 'latency' }],
  ratios: [{ side: beside.name, measure: 'p99', is: '≤', ratio: 1, against: alone.name }],
})
