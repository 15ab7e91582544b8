import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Interactor } from '@bulkhead/contract'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import { BulkheadError, createHost, type Host } from '../../../src/index.ts'

/** What the suite tells its client. */
export interface Scenario {
  readonly scenario: string
  /** The address of the server under the suite's control. */
  readonly url: string
  readonly context: {
    readonly client_id?: string
    readonly client_secret?: string
    readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[]
  }
}

/** The suite serves no such document: its authorization server only compares the address. */
const METADATA_DOCUMENT = 'https://conformance-test.local/client-metadata.json'
const MOST_SIGN_INS = 3

/** A person who agrees and leaves every field as it is suggested. */
const agreeing: Interactor = {
  async interact({ request }) {
    const value: Json = request.kind !== 'Select' ? (request.kind === 'Ask' ? '' : true)
      : request.options.find(({ label }) => request.prompt.includes(`suggested: ${label}`))?.label
        ?? request.options[0]!.label
    return { status: 'accepted', value }
  },
}

/** Plays one scenario: a host whose configuration names the server signs in if it must, and calls every tool. */
export async function drive({ scenario, url, context }: Scenario): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-conformance-'))
  const { client_id: clientId, client_secret: clientSecret } = context
  const oauth = scenario === 'auth/basic-cimd' ? { clientId: METADATA_DOCUMENT }
    : clientId === undefined ? undefined : { clientId, clientSecret: { secret: 'CLIENT_SECRET' } }
  const host = await createHost({
    workspace: folder, home: join(folder, 'home'), discover: 'when-asked',
    env: { ...process.env, CLIENT_SECRET: clientSecret },
    config: { mode: 'yolo', mcp: { suite: { type: 'remote', url, ...(oauth && { oauth }) } } },
  })
  try {
    const [status] = await host.mcp.connect()
    let signIns = 0
    const login = async (): Promise<void> => {
      if (++signIns > MOST_SIGN_INS) throw new Error('The server demands a sign-in too often.')
      try {
        // The authorization server of the suite redirects at once.
        await host.mcp.login('suite', { show: (page) => void fetch(page).catch(() => undefined) })
      } catch (error) {
        if (!BulkheadError.is(error) || error.code !== 'SignInRequired') throw error
        await login()
      }
    }
    if (status?.error !== undefined) await login()
    return await callAll(host, context, login)
  } finally {
    await host.close()
    rmSync(folder, { recursive: true })
  }
}

async function callAll(
  host: Host, { toolCalls }: Scenario['context'], login: () => Promise<void>,
): Promise<readonly string[]> {
  const session = await host.openSession({ interactor: agreeing })
  const calls = toolCalls?.map((call) => ({ ...call, name: `suite_${call.name}` }))
    ?? host.tools().filter(({ name }) => name.startsWith('suite_'))
      .map(({ name, inputSchema }) => ({ name, arguments: argumentsFor(inputSchema) }))
  const outcomes: string[] = []
  for (const [index, call] of calls.entries()) {
    for (let attempt = 1; ; attempt++) {
      const outcome = await session.call({ ...call, id: `${index}-${attempt}` })
      outcomes.push(`${call.name} ${JSON.stringify(outcome)}`)
      if (outcome.type !== 'error' || outcome.error.code !== 'SignInRequired') break
      await login()
    }
  }
  return outcomes
}

/** Valid arguments for the schemas of the suite. */
function argumentsFor({ properties = {}, required = [] }: JsonObject): JsonObject {
  const samples: Readonly<Record<string, Json>> = { string: 'sample', number: 3, integer: 3, boolean: true, object: {} }
  return Object.fromEntries((required as string[]).map((name) => {
    const schema = isJsonObject(properties) ? properties[name] : undefined
    return [name, isJsonObject(schema) ? samples[String(schema['type'])] ?? 'sample' : 'sample']
  }))
}
