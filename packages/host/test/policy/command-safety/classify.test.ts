import type { CommandSafetyPattern } from '@bulkhead/contract'
import { commandSafetyPatternSchema } from '@bulkhead/contract/validation'
import { describe, expect, test } from 'vitest'
import { LONG, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { COMMAND_SAFETY_PATTERNS, createCommandClassifier } from '../../../src/policy/command-safety/command-safety.ts'
import { VECTORS } from './vectors.ts'

const classify = createCommandClassifier()

describe.each(COMMAND_SAFETY_PATTERNS)('$id', (pattern) => {
  const { found = [], left = [] } = VECTORS[pattern.id] ?? {}

  test('has the documented form, and vectors that match and that do not', () => {
    expect(commandSafetyPatternSchema.parse(pattern)).toEqual(pattern)
    expect(found.length).toBeGreaterThan(1)
    expect(left.length).toBeGreaterThan(1)
  })

  test('finds what matches, and nothing else', () => {
    // Alone, because all patterns together take fifty times as long. Together they find one, and all in `pnpm soak`.
    const alone = createCommandClassifier([pattern])
    expect(found.filter((text) => alone(text).severity !== pattern.severity)).toEqual([])
    expect(left.filter((text) => alone(text).matchedRules.length > 0)).toEqual([])
    const together = thoroughly(found.slice(0, 1), found)
    for (const text of together) {
      const { matchedRules, severity } = classify(text)
      expect(matchedRules).toContain(pattern)
      expect(severity).not.toBe('safe')
    }
  })
})

test('there are at least 25 patterns with unique ids, and vectors for each of them only', () => {
  const ids = COMMAND_SAFETY_PATTERNS.map(({ id }) => id)
  expect(ids.length).toBeGreaterThanOrEqual(25)
  expect(new Set(ids).size).toBe(ids.length)
  expect(Object.keys(VECTORS).toSorted()).toEqual(ids.toSorted())
})

test('everyday commands are safe', () => {
  const daily = [
    'ls -la', 'npm ci && npm test', 'git add -A && git commit -m "remove rm -rf / from docs"', 'git push origin HEAD',
    'cat src/index.ts | head -50', 'grep -rn "shutdown" src', 'docker compose up -d', 'make clean',
    'python3 -m venv .venv', 'curl -s https://api.example.com | jq .items', 'find . -name "*.ts" | xargs wc -l',
    'ssh me@host uptime', 'rm -rf dist node_modules', 'for f in *.md; do echo "$f"; done', 'tsc --noEmit',
    'kubectl get pods -A', 'sed -i s/a/b/ x.txt', 'chmod +x run.sh',
  ]
  expect(daily.filter((text) => classify(text).severity !== 'safe')).toEqual([])
})

test('the worst rule gives the severity, and every match is reported', () => {
  expect(classify('ls')).toEqual({ severity: 'safe', matchedRules: [] })
  expect(classify('git push -f').severity).toBe('warning')
  const both = classify('git push -f origin main')
  expect(both.severity).toBe('critical')
  expect(both.matchedRules.map(({ id }) => id)).toEqual(['git-force-push-protected', 'git-force-push'])
})

test('a long text is classified as a short one', LONG, () => {
  const filler = `echo ${'many words '.repeat(2_000)}`
  for (const text of ['git push -f origin main', 'rm -rf /', 'ls -la']) {
    expect(classify(`${filler}; ${text}`)).toEqual(classify(text))
    expect(classify(`${text}; ${filler}`)).toEqual(classify(text))
  }
})

test('a command that nearly matches everywhere is classified in linear time', () => {
  const hostile = [
    'rm -r '.repeat(30_000), `git push ${'-x '.repeat(60_000)}`, ':(){ '.repeat(30_000), 'curl | '.repeat(25_000),
  ]
  for (const text of hostile) expect(classify(text).severity).toMatch(/^(?:safe|warning|critical)$/)
})

test('a pattern that is not a linear regular expression is rejected with its id', () => {
  const broken = (pattern: string): CommandSafetyPattern => ({ ...COMMAND_SAFETY_PATTERNS[0]!, id: 'mine', pattern })
  for (const pattern of ['(', 'a)|(b', '(?=x)', '(x)\\1']) {
    expect(() => createCommandClassifier([broken(pattern)])).toThrow(expect.objectContaining({
      code: 'ConfigInvalid', message: expect.stringContaining('"mine"') as string,
    }))
  }
})

test('an empty list classifies everything as safe', () => {
  expect(createCommandClassifier([])('rm -rf /')).toEqual({ severity: 'safe', matchedRules: [] })
})
