// For the tests of packages that do not install the SDK.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Options } from '@anthropic-ai/claude-agent-sdk'

export { query } from '@anthropic-ai/claude-agent-sdk'

/** The real agent, which asks the model at an address and keeps everything in one folder. */
export const agentAt = (url: string, folder: string): Options => ({
  pathToClaudeCodeExecutable: fileURLToPath(import.meta.resolve('@anthropic-ai/claude-code/cli.js')),
  executable: 'node', cwd: folder, settingSources: [], persistSession: false, strictMcpConfig: true,
  env: {
    PATH: dirname(process.execPath), HOME: folder, CLAUDE_CONFIG_DIR: folder, ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'none', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1',
  },
})
