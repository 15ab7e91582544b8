import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BulkheadError, FileReader, FileWriter, RuntimePart } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { onTestFinished } from 'vitest'
import { fileAccess } from '../../../sandbox/src/extension/capabilities.ts'
import type { OpenCall } from '../../src/model/capability.ts'
import type { FsOptions } from '../../src/fs/fs.ts'
import { fsCapability } from '../../src/fs/fs.ts'
import { temporaryFolder, toolOf } from '../fixture.ts'

export const CANARY = 'the canary sings'

/** A workspace with all kinds of links out of it and into it, and a canary outside. */
export async function setUp(): Promise<Readonly<Record<'root' | 'workspace' | 'outside', string>>> {
  const root = await temporaryFolder()
  const [workspace, outside] = [join(root, 'workspace'), join(root, 'outside')]
  await mkdir(join(workspace, 'docs', 'deep'), { recursive: true })
  await mkdir(join(root, 'workspace-other'))
  await mkdir(outside)
  await writeFile(join(outside, 'secret.txt'), CANARY)
  await writeFile(join(root, 'workspace-other', 'secret.txt'), CANARY)
  await writeFile(join(workspace, 'docs', 'a.md'), 'inside')
  await writeFile(join(workspace, 'root.txt'), 'root')
  await symlink(outside, join(workspace, 'docs', 'folder-link'))
  await symlink('../../outside/secret.txt', join(workspace, 'docs', 'file-link'))
  await symlink('file-link', join(workspace, 'docs', 'chain'))
  await symlink('a.md', join(workspace, 'docs', 'good-link'))
  await symlink('deep', join(workspace, 'docs', 'good-folder'))
  await symlink(join(outside, 'not-there'), join(workspace, 'docs', 'dangling'))
  await symlink('loop', join(workspace, 'docs', 'loop'))
  await symlink('/proc/self/root', join(workspace, 'docs', 'proc'))
  return { root, workspace, outside }
}

export interface OpenedFs {
  /** `runtime.fs` of a tool, directly on the capability. Values pass through JSON. */
  readonly fs: FileReader & FileWriter
  endCall(): void
  close(): Promise<void>
  readonly call: AbortController
}

const BOTH: ReadonlySet<RuntimePart> = new Set(['fs.read', 'fs.write'])
let calls = 0

/** A tool with this grant in its own call. `beside` opens another call of the same compartment. */
export function openFs(
  workspace: string, requires: JsonObject, options: FsOptions = {},
): OpenedFs & { beside(): OpenedFs } {
  const unit = fsCapability(workspace, options)
  onTestFinished(() => unit.close())
  const tool = toolOf('run', { fs: requires }, workspace)
  const open = (): OpenedFs => {
    const controller = new AbortController()
    const call: OpenCall = { callId: `call-${++calls}`, tool, signal: controller.signal }
    const fs = fileAccess(BOTH, async (method, ...args) => {
      const plain = JSON.parse(JSON.stringify(args)) as Json[]
      return JSON.parse(JSON.stringify(await unit.capabilities[method]!(call, plain))) as Json
    }) as FileReader & FileWriter
    return { fs, call: controller, endCall: () => unit.endCall(call.callId), close: () => unit.close() }
  }
  return { ...open(), beside: open }
}

/** Writes files, empty by default. */
export async function put(
  folder: string, ...files: readonly (string | readonly [path: string, text: string])[]
): Promise<void> {
  for (const entry of files) {
    const [path, content] = typeof entry === 'string' ? [entry, ''] : entry
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), content)
  }
}

export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then((value) => `not refused: ${JSON.stringify(value)}`, (error: BulkheadError) => error.code)
