import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { BulkheadError, type FileReader, type PipeOptions, type PipeResult, type ShellStage } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { tool as bash } from '../../bash/bash.ts'
import { tool as git } from '../git.ts'

/**
 * The tool with real files and processes, without a wall around commands, as on a system without bubblewrap: what a
 * program does
 * becomes visible.
 */
export function unwalledTool(workspace: string, variables: Readonly<Record<string, string>> = IDENTITY) {
  const { execute } = git as unknown as { execute: Execute }
  const call = (args: JsonObject): Promise<JsonObject> => execute(args, runtimeIn(workspace, variables, NO_PREFIX))
  const refusal = (args: JsonObject): Promise<BulkheadError> => call(args).then(
    (value) => { throw new Error(`not refused: ${JSON.stringify(value)}`) },
    (error: unknown) => error as BulkheadError,
  )
  return { call, refusal }
}

/** The same for `bash`. `prefix` stands before each program. */
export function unwalledBash(
  workspace: string, prefix: readonly string[] = NO_PREFIX,
): (command: string) => Promise<JsonObject> {
  const { execute } = bash as unknown as { execute: Execute }
  return (command) => execute({ command }, runtimeIn(workspace, IDENTITY, prefix))
}

const NO_PREFIX: readonly string[] = []
const HANGS_MS = 20_000
const IDENTITY = { GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@example.org' }
type Execute = (args: JsonObject, runtime: object) => Promise<JsonObject>

function runtimeIn(workspace: string, variables: Readonly<Record<string, string>>, prefix: readonly string[]): object {
  const real = (path: string): string => {
    const full = isAbsolute(path) ? path : join(workspace, path)
    if (!existsSync(full)) throw new BulkheadError('NotFound', `${path} does not exist.`)
    const found = realpathSync(full)
    if (found !== workspace && !found.startsWith(`${workspace}/`))
      throw new BulkheadError('CapabilityDenied', `${path} is outside.`)
    return found
  }
  const kindOf = (entry: { isFile(): boolean; isDirectory(): boolean }) =>
    entry.isFile() ? ('file' as const) : entry.isDirectory() ? ('directory' as const) : ('other' as const)
  const fs = {
    stat: async (path: string) => {
      const found = statSync(real(path))
      return { kind: kindOf(found), size: found.size, modifiedMs: found.mtimeMs }
    },
    list: async (path: string) =>
      readdirSync(real(path), { withFileTypes: true }).map((entry) => ({ name: entry.name, kind: kindOf(entry) })),
    read: async (path: string, { start = 0, end }: { start?: number; end?: number } = {}) =>
      readFileSync(real(path)).subarray(start, end),
  } as unknown as FileReader
  const pipe = async (stages: readonly ShellStage[], { cwd = '.' }: PipeOptions = {}): Promise<PipeResult> => {
    let text = { input: typeof stages[0]?.input === 'string' ? stages[0].input : '', errors: '' }
    const exits = stages.map(({ cmd, args = [] }) => {
      const [file, ...rest] = [...prefix, cmd, ...args]
      const { status, signal, stdout, stderr } = spawnSync(file!, rest, {
        cwd: real(cwd), env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/dev/null', LANG: 'C.UTF-8' },
        encoding: 'utf8', input: text.input, timeout: HANGS_MS,
      })
      text = { input: stdout, errors: text.errors + stderr }
      return { exitCode: status, signal }
    })
    return { exits, stdout: text.input, stderr: text.errors, truncated: false, timedOut: false }
  }
  const env = {
    get: async (name: string) =>
      variables[name] ?? Promise.reject(new BulkheadError('EnvNameNotSet', `${name} is not set.`)),
  }
  return { fs, shell: { pipe }, env }
}
