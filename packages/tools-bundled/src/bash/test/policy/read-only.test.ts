import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { analyzeCommand } from '../../policy/analyze-command.ts'

const context = { workspace: '/home/dev/project', folder: '.' }
const analysisOf = (command: string) => analyzeCommand(command, context).analysis
/** Where the look wall stands. */
const isUnasked = (command: string): boolean => analysisOf(command).command.look !== undefined

/** Lines that need the network, the environment, other processes or folders outside. They ask. */
const NEEDS_MORE: ReadonlySet<string> = new Set([
  'git remote show origin', 'npm view x version', 'ps aux', 'ps aux | grep node', 'pgrep node', 'lsof -i :3000', 'env',
  'printenv', 'ls ~', 'cat /etc/os-release', 'cat /proc/cpuinfo', 'ls ..',
])

describe('a line that seems to only read inside the workspace runs unasked behind the look wall', () => {
  it('at least 95% of ordinary lines run unasked', () => {
    const lines = readFileSync(join(import.meta.dirname, '../corpus/ordinary-commands.txt'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.replaceAll(String.raw`\n`, '\n'))
    const [more, ordinary] = [
      lines.filter((line) => NEEDS_MORE.has(line)), lines.filter((line) => !NEEDS_MORE.has(line)),
    ]
    expect([more.length, more.filter(isUnasked)]).toEqual([NEEDS_MORE.size, []])
    const asking = ordinary.filter((line) => !isUnasked(line))
    expect(ordinary.length).toBeGreaterThan(200)
    expect(asking.length / ordinary.length, asking.join('\n')).toBeLessThanOrEqual(0.05)
  })

  it.each([
    'git tag -l', 'git config --get user.name', 'git -C src status', 'grep -R foo .', 'jq --arg a b .x package.json',
    'unzip -l x.zip', 'less a.txt', 'if [ -f a ]; then cat a; fi', 'x=1; echo $x', 'ls | xargs echo',
    'git log --output=x', "awk '/a/ {print}' a", "sed -n '/a/p' a", 'for i in 1 2; do echo $i; done',
    'ls | xargs -I{} grep x {}', 'ls & ls', 'while read -r a b; do echo "$a"; done < f', 'cd src && git status',
    'cat <(ls)', 'rustc --version', 'make -n', 'pip list', 'case a in a) ls;; esac', 'f() { cat a; }; cat b',
    'echo $((1 + 2))', 'cat /home/dev/project/a', 'git diff main..HEAD -- src/../a',
  ])('%s runs unasked', (command) => {
    expect(isUnasked(command)).toBe(true)
  })
})

describe('what obviously writes, or needs more than the wall shows, asks', () => {
  it.each([
    'sed -i s/a/b/ f', 'sed --in-place p f', 'find . -delete', 'find . -exec rm {} +', 'find . -execdir grep x {} +',
    'find . -fprint x', 'sort -o x a', 'tee x', 'ls | tee x', 'ls > x', 'ls &> x', 'ls 2>> x', 'cat <> x', '(ls) > x',
    'git branch new', 'git branch -D x', 'git tag v1', 'git config a b', 'git config --unset a', 'git stash',
    'git worktree add x', 'git remote add a b', 'git commit -m x', 'git push', 'git symbolic-ref HEAD x',
    'git -c core.pager=x log', 'git --git-dir=x status', 'uniq a b', 'xxd -r a b', 'date -s x', 'hostname x',
    'tar xf x', 'unzip x.zip', 'make', 'npm test', 'npm install', 'node -e 1', 'python3 x.py', 'sh -c ls', 'bash x.sh',
    './ls', 'sudo ls', 'ls | sh', 'ls | xargs rm', 'ls | xargs sh -c x', 'echo $(touch x)', 'f() { touch a; }; f',
    'if ls; then touch a; fi', 'env', 'printenv', 'env | sort', 'echo $SECRET', 'echo "${TOKEN:-x}"', 'echo ${!x}',
    'echo $((TOKEN))', 'export', 'set', 'declare -p', 'cat ../x', 'cat /etc/passwd', 'ls ~', 'cat "$HOME/.ssh/id_rsa"',
    'cat < ../x', 'for f in ../*; do cat "$f"; done', '[[ -f ../x ]]', 'grep x --file=/etc/passwd', 'git -C .. status',
    'cd .. && ls', 'ps aux', 'curl https://example.org', 'eval ls', 'x=ls; $x', 'PATH=. ls', 'alias a=b', 'nonsense',
  ])('%s asks', (command) => {
    expect(isUnasked(command)).toBe(false)
  })
})

describe('the keys of a line', () => {
  const keys = (command: string) => analysisOf(command).subjects.map(({ key }) => key)
  const lookKeys = (command: string) => analysisOf(command).command.look?.subjects.map(({ key }) => key)

  it('name the program behind the look wall, and the exact words without it', () => {
    expect([lookKeys('git log -5'), keys('git log -5')]).toEqual([['git log'], ['[effects] git log -5']])
    expect([lookKeys('ls -la | xargs grep x'), keys('ls -la | xargs grep x')]).toEqual([
      ['ls', 'grep'], ['[effects] ls -la', '[effects] xargs grep x <|'],
    ])
    expect([lookKeys('x=1; echo $x'), keys('x=1; echo $x')]).toEqual([['echo'], ['[shell] x=1; echo $x']])
    expect([lookKeys('find . -exec wc -l {} +'), lookKeys('[ -f a ]'), lookKeys('node --version')]).toEqual([
      ['find', 'wc'], ['test'], ['node --version'],
    ])
  })

  it('name the program also without a wall, if it has no options', () => {
    expect(['ls src', 'git status', 'git log main', 'ps aux', 'cat a b | sort'].map(keys)).toEqual([
      ['ls'], ['git status'], ['git log'], ['ps'], ['cat', 'sort'],
    ])
    expect(
      ['ls *', 'ls -a', 'cat /etc/passwd', 'cd src && git status', 'X=1 ls', 'ps --unknown', 'find .'].map((line) =>
        keys(line).some((key) => /^\w+( \w+)?$/.test(key)),
      ),
    ).toEqual(Array.from({ length: 7 }, () => false))
  })

  it('rules can match the whole line and what it runs', () => {
    for (const [command, name] of [
      ['(cd src && ls)', '(cd src && ls)'], ['echo "$(date)"', 'date'], ['time ls', 'time ls'],
      ['timeout 5 ls -a', 'ls -a'], ['if true; then cat a; fi', 'cat a'],
    ] as const) {
      const { look } = analysisOf(command).command
      expect(look!.subjects.flatMap(({ key, names = [] }) => [key, ...names])).toContain(name)
    }
  })
})

it('a line that names a file with credentials says so, in every form', () => {
  for (const command of [
    'cat .env', 'head -n 1 .env.local', 'for f in .env; do cat "$f"; done', 'x=$(cat config/.env)', 'grep -r x .aws',
    'cat < .env', 'sort --files0-from=.env', 'if [ -f .env ]; then cat .env; fi',
  ]) {
    const { reads = [] } = analysisOf(command).effects!
    expect([command, reads.some(({ path }) => /\/\.(?:env|aws)/.test(path))]).toEqual([command, true])
  }
})
