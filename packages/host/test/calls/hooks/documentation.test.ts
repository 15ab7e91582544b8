import { readFileSync } from 'node:fs'
import { configFileSchema } from '@bulkhead/contract/validation'
import { expect, test } from 'vitest'
import type { Hooks } from '../../../src/index.ts'
import { COMMAND_SAFETY_PATTERNS } from '../../../src/embedder.ts'

const page = readFileSync(new URL('../../../../../docs/guides/hooks.md', import.meta.url), 'utf8')

/** Must list every hook to compile. */
const names: Readonly<Record<keyof Hooks, true>> = {
  beforeToolExecution: true, afterToolExecution: true, beforeToolExecutionUpdate: true, afterToolExecutionUpdate: true,
  onBeforeTool: true, onAfterTool: true, onToolError: true, onPermissionDenied: true, onTokenBudgetExceeded: true,
  onToolsDisabled: true,
}

test('the page names every hook', () => {
  const missing = Object.keys(names).filter(
    (name) => !page.includes(`\`${name}\``) && name !== 'afterToolExecutionUpdate',
  )
  expect(missing).toEqual([])
  expect(page).toContain('`beforeToolExecutionUpdate`, `after…Update`')
})

test('its configuration is valid, and names existing patterns', () => {
  const [, example = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? []
  const { watchdogs } = configFileSchema.parse(JSON.parse(example))
  const ids = new Set(COMMAND_SAFETY_PATTERNS.map(({ id }) => id))
  expect(Object.keys(watchdogs?.commandSafety?.severity ?? {}).filter((id) => !ids.has(id))).toEqual([])
})
