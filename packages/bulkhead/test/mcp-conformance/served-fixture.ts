import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { serveToolsOverHttp, type HttpServing, type ServedHost } from '@bulkhead/bridges/mcp'
import { createHost } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { writeExtension } from '../extension-folder.ts'
import { changePrompts, prompts, resources } from './served-content.ts'

/** Serves the tools of the fixture extension, which run in compartments, over HTTP, with resources and prompts. */
export async function serveFixture(folder: string, isolation: 'process' | 'thread'): Promise<HttpServing> {
  const [workspace, home] = [join(folder, 'work'), join(folder, 'home')]
  mkdirSync(workspace)
  cpSync(join(import.meta.dirname, 'fixtures/extension'), join(home, 'tools/conformance'), { recursive: true })
  const host = await createHost({
    workspace, home, cache: CACHE, trust: 'declined',
    config: { isolation: { global: isolation }, sandbox: { spares: { process: 0, thread: 0 } } },
  })
  let late: string | undefined
  host.on((event) => {
    if (!('tool' in event)) return
    if (event.tool === 'test_trigger_prompt_change') changePrompts()
    if (event.tool !== 'test_trigger_tool_change') return
    if (late === undefined) late = writeExtension(home, { id: 'late', tools: [{ name: 'late' }] }, 'export default {}')
    else {
      rmSync(late, { recursive: true })
      late = undefined
    }
    void host.reload()
  }, ['ToolInvocationSucceeded'])
  const all: ServedHost = {
    offeredTools: (session) => session.tools(), on: (listener, types) => host.on(listener, types),
  }
  const serving = await serveToolsOverHttp(all, {
    info: { name: 'conformance', version: '1.0.0' },
    openSession: (interactor) => host.openSession({ interactor, mode: 'yolo' }),
    // The suite expects tasks of calls that take a second.
    taskAfterMs: 800,
    resources: [resources], prompts: [prompts],
  })
  void serving.closed.then(() => host.close())
  return serving
}
