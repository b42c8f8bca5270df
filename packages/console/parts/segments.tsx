/** A choice of one of a few views, which is applied at once. */
export function Segments<T extends string>({
  label,
  options,
  value,
  onChange,
}: {
  label: string
  options: Readonly<Record<T, string>>
  value: T
  onChange: (value: T) => void
}) {
  return (
    <fieldset className="segments" aria-label={label}>
      {(Object.keys(options) as T[]).map((one) => (
        <button type="button" key={one} aria-pressed={one === value} onClick={() => onChange(one)}>
          {options[one]}
        </button>
      ))}
    </fieldset>
  )
}
