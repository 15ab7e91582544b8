import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { traceTools } from '@bulkhead/bridges/otel'
import { trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createHost } from '../src/index.ts'
import { traceWherePresent } from '../src/facade/tracing.ts'
import { CACHE } from './cache.ts'
import { IN_THREADS, writeExtension } from './extension-folder.ts'

const exporter = new InMemorySpanExporter()
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-trace-'))
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
})
afterEach(() => {
  trace.disable()
  rmSync(folder, { recursive: true })
})

it('a program with OpenTelemetry gets a span for each call', async () => {
  writeFileSync(join(folder, 'a.txt'), 'text')
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE })
  const session = await host.openSession()
  await session.call({ id: 'c1', name: 'read', arguments: { path: 'a.txt' } })
  await session.call({ id: 'c2', name: 'read', arguments: { path: 'none.txt' } })
  await host.close()
  expect(exporter.getFinishedSpans()).toMatchObject([
    {
      name: 'execute_tool read',
      attributes: {
        'gen_ai.tool.call.id': 'c1', 'bulkhead.layer': 'bundled',
        'gen_ai.tool.description': expect.stringMatching(/file/) as string,
      },
    },
    { name: 'execute_tool read', attributes: { 'gen_ai.tool.call.id': 'c2', 'error.type': 'NotFound' } },
  ])
})

it('a program that traces the host itself gets no second span', async () => {
  writeFileSync(join(folder, 'a.txt'), 'text')
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE })
  const session = await host.openSession()
  exporter.reset()
  const stop = traceTools(host, { tracer: trace.getTracer('mine'), arguments: true })
  await session.call({ id: 'c1', name: 'read', arguments: { path: 'a.txt' } })
  expect(exporter.getFinishedSpans()).toMatchObject([
    {
      instrumentationScope: { name: 'mine' },
      attributes: { 'gen_ai.tool.call.id': 'c1', 'gen_ai.tool.call.arguments': '{"path":"a.txt"}' },
    },
  ])
  stop()
  await host.close()
})

it('a call made by a tool is a child span', async () => {
  const home = join(folder, 'home')
  const requires = { capabilities: ['tools.call' as const] }
  writeExtension(
    home, { id: 'asker', tools: [{ name: 'asks', requires }] },
    'export default { tools: { asks: { execute: (_, { tools }) => tools.call("answers", {}) } } }',
  )
  writeExtension(
    home, { id: 'answerer', tools: [{ name: 'answers' }] },
    'export default { tools: { answers: { execute: () => 42 } } }',
  )
  const host = await createHost({ workspace: folder, home, cache: CACHE, config: IN_THREADS })
  const session = await host.openSession({ mode: 'yolo' })
  exporter.reset()
  for (const id of ['c1', 'c2'])
    expect(await session.call({ id, name: 'asks', arguments: {} })).toMatchObject({ data: 42 })
  await host.close()
  const spans = exporter.getFinishedSpans()
  expect(spans.map(({ name }) => name)).toEqual([
    'execute_tool answers', 'execute_tool asks', 'execute_tool answers', 'execute_tool asks',
  ])
  for (const at of [0, 2]) expect(spans[at]!.parentSpanContext?.spanId).toBe(spans[at + 1]!.spanContext().spanId)
})

it('no spans are created if only the OpenTelemetry API is installed', async () => {
  trace.disable()
  expect(await listenersOf()).toBe(0)
  trace.setGlobalTracerProvider(new BasicTracerProvider())
  expect(await listenersOf()).toBe(1)
})

async function listenersOf(): Promise<number> {
  let listeners = 0
  const stop = await traceWherePresent({ on: () => { listeners++; return () => undefined }, tool: () => undefined })
  stop()
  return listeners
}
