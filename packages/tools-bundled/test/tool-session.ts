import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { BulkheadError, BundledTool, CompartmentServices } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { createSandbox, type SandboxOptions } from '@bulkhead/sandbox'
import { afterAll, beforeAll } from 'vitest'
import type { BundledOptions } from '../src/index.ts'
import { toolRequest } from './tool-request.ts'

export interface ToolSession {
  readonly workspace: string
  readonly userData: string
  call(args: JsonObject, signal?: AbortSignal): Promise<JsonObject>
  /** The error of a call. */
  refusal(args: JsonObject, signal?: AbortSignal): Promise<Pick<BulkheadError, 'code' | 'message' | 'data'>>
  key(args: JsonObject): Promise<string>
  /** Creates missing folders. */
  put(path: string, content?: string | Uint8Array): Promise<void>
}

interface ToolSessionOptions extends Pick<SandboxOptions, 'dryRun'> {
  readonly bundled?: BundledOptions
}

/** Opens a bundled tool in a real sandbox with its own workspace, for all tests of a file or block. */
export function toolSession(
  tool: BundledTool, services: Partial<CompartmentServices> = {}, { bundled, ...options }: ToolSessionOptions = {},
): ToolSession {
  const [workspace, userData] = [0, 1].map(() => realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-tool-')))) as [
    string, string,
  ]
  const request = toolRequest(tool, { workspace: [workspace], 'user-data': [userData] }, services, bundled)
  const sandbox = createSandbox({ workspace, ...options })
  const opened = Promise.withResolvers<Awaited<ReturnType<typeof sandbox.open>>>()
  let calls = 0

  beforeAll(async () => {
    opened.resolve(await sandbox.open(request))
    await (await opened.promise).lifecycle('init')
  })
  afterAll(async () => {
    await sandbox.close()
    for (const folder of [workspace, userData]) rmSync(folder, { recursive: true, force: true })
  })

  const call = async (args: JsonObject, signal = new AbortController().signal): Promise<Json> =>
    (await opened.promise).call({ callId: `c${++calls}`, tool, args, signal })
  return {
    workspace,
    userData,
    call: (args, signal) => call(args, signal) as Promise<JsonObject>,
    refusal: (args, signal) => call(args, signal).then(
      (value) => { throw new Error(`not refused: ${JSON.stringify(value)}`) },
      (error: unknown) => error as BulkheadError,
    ),
    key: async (args) => (await opened.promise).deriveApprovalKey(tool, args, new AbortController().signal),
    async put(path, content = '') {
      await mkdir(dirname(join(workspace, path)), { recursive: true })
      await writeFile(join(workspace, path), content)
    },
  }
}
