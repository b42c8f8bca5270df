/** The first letters of a name. Letters of any script count; other characters do not. */
function initialsOf(name: string): string {
  const words = name.match(/\p{L}[\p{L}\p{M}]*/gu) ?? []
  const [first = '', second = ''] = words.length > 1 ? [words[0], words.at(-1)] : [words[0]]
  return ([...first].slice(0, second ? 1 : 2).join('') + [...second].slice(0, 1).join('')).toUpperCase()
}

const hueOf = (text: string) => [...text].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % 6

export function Avatar({ name, of, square }: { name: string; of: string; square?: boolean }) {
  return (
    <span
      className="avatar"
      data-hue={hueOf(of)}
      data-shape={square ? 'square' : undefined}
      aria-hidden="true"
    >
      {initialsOf(name) || '·'}
    </span>
  )
}

/** A person: names above the address. Both are text of other people, so their direction is kept apart. */
export function Person({ name, email }: { name: string; email: string }) {
  return (
    <span className="person">
      <Avatar name={name || email} of={email} />
      <span className="names">
        <bdi>{name || email}</bdi>
        {name && <bdi>{email}</bdi>}
      </span>
    </span>
  )
}

export const nameOf = (user: { first_name: string; last_name: string }) =>
  `${user.first_name} ${user.last_name}`.trim()
