import type { Json } from '@bulkhead/kit/json'

type Sample = readonly [title: string, value: Json]

const reviewer = { name: 'reviewer' }

export const validAgents: readonly Sample[] = [
  ['only a name', reviewer],
  [
    'every key',
    {
      $schema: './agent.schema.json', name: 'code-reviewer.2', prompt: 'Review the change.', model: 'claude-sonnet',
      tools: ['read', 'web*'],
      requires: { fs: { read: ['{workspace}/**'] }, shell: [{ cmd: 'git', args: [{ rest: true }] }] },
      rules: [
        { permission: 'fs.write', action: 'deny' }, { permission: 'bash', pattern: 'git *', action: 'ask' },
      ],
      roots: ['../library', '/srv/data'], budget: { tokens: 8000, calls: 20 },
    },
  ],
  ['no tools', { ...reviewer, tools: [] }],
  ['no powers', { ...reviewer, requires: {} }],
]

export const invalidAgents: readonly Sample[] = [
  ['no name', { prompt: 'Review.' }],
  ['a path as name', { name: '../reviewer' }],
  ['a hidden file as name', { name: '.reviewer' }],
  ['a long name', { name: 'a'.repeat(65) }],
  ['an unknown key', { ...reviewer, mode: 'yolo' }],
  ['an empty prompt', { ...reviewer, prompt: '' }],
  ['one tool without a list', { ...reviewer, tools: 'read' }],
  ['an unknown requirement', { ...reviewer, requires: { disk: [] } }],
  ['a rule without an action', { ...reviewer, rules: [{ permission: 'bash' }] }],
  ['an unknown action', { ...reviewer, rules: [{ permission: 'bash', action: 'maybe' }] }],
  ['an empty root', { ...reviewer, roots: [''] }],
  ['a root with a null byte', { ...reviewer, roots: ['a\0b'] }],
  ['a budget of nothing', { ...reviewer, budget: { calls: 0 } }],
  ['a budget below zero', { ...reviewer, budget: { tokens: -1 } }],
]
