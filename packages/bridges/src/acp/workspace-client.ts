import type { ClientCapabilities } from '@agentclientprotocol/sdk'
import type { ClientCall, ClientCommand, ClientRun, WorkspaceClient } from '@bulkhead/contract'
import { onAbort } from '@bulkhead/kit/deadlines'
import { isShort } from './tool-call.ts'
import type { AcpClient, CallUpdates } from './updates.ts'

export interface WorkspaceParts {
  readonly client: AcpClient
  readonly sessionId: string
  readonly capabilities: ClientCapabilities
  readonly updates: Pick<CallUpdates, 'showDiff' | 'showTerminal'>
}

/** The files and the terminal of a client, as far as it has them. */
export function acpWorkspace({ client, sessionId, capabilities, updates }: WorkspaceParts): WorkspaceClient {
  const { fs, terminal } = capabilities

  async function readText(path: string, { signal }: ClientCall): Promise<string | undefined> {
    try {
      const options = { cancellationSignal: signal, stopWaitingOnCancel: true }
      return (await client.request('fs/read_text_file', { sessionId, path }, options)).content
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === NOT_FOUND) return undefined
      throw error
    }
  }

  async function writeText(path: string, newText: string, call: ClientCall): Promise<void> {
    // Without it the write is shown as a new file.
    const oldText = fs?.readTextFile ? await readText(path, call).catch(() => undefined) : undefined
    const options = { cancellationSignal: call.signal, stopWaitingOnCancel: true }
    await client.request('fs/write_text_file', { sessionId, path, content: newText }, options)
    if (isShort(newText) && isShort(oldText ?? '')) {
      updates.showDiff(call.callId, { type: 'diff', path, oldText: oldText ?? null, newText })
    }
  }

  async function run(command: ClientCommand, { callId, signal }: ClientCall): Promise<ClientRun> {
    const { program, args, cwd, outputBytes } = command
    await using started = await client.createTerminal(
      { sessionId, command: program, args: [...args], cwd, outputByteLimit: outputBytes },
      { cancellationSignal: signal },
    )
    updates.showTerminal(callId, started.id)
    const forget = onAbort(signal, () => void started.kill().catch(() => undefined))
    try {
      const { exitCode = null, signal: ended = null } = await started.waitForExit()
      const { output, truncated } = await started.currentOutput()
      return { exitCode, signal: ended, output, truncated }
    } finally {
      forget()
    }
  }

  return {
    ...(fs?.readTextFile ? { readText } : {}),
    ...(fs?.writeTextFile ? { writeText } : {}),
    ...(terminal ? { run } : {}),
  }
}

/** The error of the protocol for a missing file. */
const NOT_FOUND = -32_002
