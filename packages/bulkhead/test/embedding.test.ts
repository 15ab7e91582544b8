import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const AGENT = /^```ts agent\.ts\n([\s\S]*?)^```/m.exec(readFileSync(join(ROOT, 'docs/tutorials/first-agent.md'), 'utf8'))![1]!

/** A model that wants one file read and one written, and then tells what it was told. */
const YOURS = `
import type { FunctionTool, ModelToolCall, ModelToolMessage } from '@bulkhead/bridges/openai'
export interface Answer { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly ModelToolCall[] }
export type Message = { readonly role: 'user'; readonly content: string } | Answer | ModelToolMessage
const call = (id: string, name: string, args: object): ModelToolCall => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } })
export async function askModel(messages: readonly Message[], tools: readonly FunctionTool[], _stop: AbortSignal): Promise<Answer> {
  if (messages.length > 1) return { role: 'assistant', content: messages.flatMap((message) => message.role === 'tool' ? [message.content] : []).join(' ') }
  console.log(tools.some((tool) => tool.function.name === 'read'))
  return { role: 'assistant', content: null, tool_calls: [call('c1', 'read', { path: 'notes.md' }), call('c2', 'write', { path: 'out.md', content: 'x' })] }
}
export async function askPerson(question: string): Promise<boolean> {
  console.log(question)
  return false
}
`
const MAIN = `
import { runAgent } from './agent.ts'
const [workspace, home] = process.argv.slice(2)
console.log(await runAgent('go', workspace!, home!, new AbortController().signal))
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-embedding-'))
  mkdirSync(join(folder, 'node_modules/@bulkhead'), { recursive: true })
  mkdirSync(join(folder, 'node_modules/@types'))
  symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
  symlinkSync(join(ROOT, 'packages/bridges'), join(folder, 'node_modules/@bulkhead/bridges'))
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'))
  for (const [name, text] of Object.entries({ 'agent.ts': AGENT, 'yours.ts': YOURS, 'main.ts': MAIN, 'package.json': '{ "type": "module" }' })) {
    writeFileSync(join(folder, name), text)
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

it('the agent of docs/tutorials/first-agent.md runs, asks, and tells the model of what was refused', async () => {
  const [workspace, home] = [join(folder, 'work'), join(folder, 'home')]
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'notes.md'), 'hello\n')
  const agent = spawn(process.execPath, ['main.ts', workspace, home], { cwd: folder, env: { HOME: folder, NO_COLOR: '1' }, stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  agent.stdout.setEncoding('utf8').on('data', (text: string) => { printed += text })
  const [code] = await once(agent, 'close')
  expect(code).toBe(0)
  expect(printed).toMatch(/^true\nMay write run\? .*out\.md.*\n.*"content":"hello\\n".* .*Ask for less\./)
})

it('and compiles under the strictest settings of an embedder', () => {
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--module', 'nodenext', '--target', 'es2024']
  const lib = ['--lib', 'es2024,esnext.disposable,esnext.iterator,esnext.collection,esnext.typedarrays', '--types', 'node', '--skipLibCheck']
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), [...options, ...lib, '--allowImportingTsExtensions', '--ignoreConfig', 'main.ts'], { cwd: folder, encoding: 'utf8' })
})
